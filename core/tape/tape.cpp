// Construction and destruction of tapes.
#include "core/tape/tape.hpp"

#include <cstdio>
#include <cstdlib>

#include "core/tape/graph.hpp"

namespace tapestry {

namespace {

/// The graph of the last tape on this thread. The next tape takes it, so that the steps of a training loop reuse its
/// memory.
thread_local std::unique_ptr<detail::Graph> spare_graph;

}  // namespace

using detail::context;

Tape::Tape() {
  if (context.tape)
    fail(
        "[tape] a thread must have at most one tape, got a second; use the first, or checkpoint(f, x…) for memory");
  graph_ = spare_graph ? std::move(spare_graph) : std::make_unique<detail::Graph>();
  graph_->take_new_serial();
  context.tape = this;
  context.graph = graph_.get();
}

Tape::~Tape() {
  if (context.tape != this) {  // the thread that made it would keep recording on freed memory
    std::fputs(
        "tapestry: a tape must be destroyed on the thread that made it, got another thread; do not pass it on\n",
        stderr);
    std::abort();
  }
  context.tape = nullptr;
  context.graph = nullptr;
  graph_->clear();
  spare_graph = std::move(graph_);
}

Tape* Tape::active() { return context.tape; }

}  // namespace tapestry
