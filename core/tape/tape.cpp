// A tape's life.
#include "core/tape/tape.hpp"

#include <cstdio>
#include <cstdlib>

#include "core/tape/graph.hpp"

namespace tapestry {

namespace {

/// Graphs are handed from one tape to the next on a thread, so that a training loop's steps reuse their
/// memory.
thread_local std::unique_ptr<detail::Graph> spare_graph;

}  // namespace

using detail::context;

Tape::Tape() {
  if (context.tape)
    fail("a tape was opened inside a tape: use one tape, or checkpoint(f, x…) to save memory inside it");
  graph_ = spare_graph ? std::move(spare_graph) : std::make_unique<detail::Graph>();
  graph_->take_new_serial();
  context.tape = this;
  context.graph = graph_.get();
}

Tape::~Tape() {
  if (context.tape != this) {  // the other thread would go on recording on what is no more
    std::fputs(
        "tapestry: a tape must be destroyed on the thread that made it, and was destroyed on another\n",
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
