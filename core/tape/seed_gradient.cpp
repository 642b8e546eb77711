// Where a pass starts: y's gradient is dy, or 1; and what is refused.
#include "core/tape/backward_pass.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

/// Says why there is nothing on the tape `serial` to begin at.
[[noreturn]] void refuse_start(const Tensor& y, bool wants_xs, std::uint64_t serial) {
  const detail::TensorImpl& impl = y.impl();
  if (impl.leaf)
    fail("[backward] {} is a leaf{}", describe(y),
         wants_xs ? ", and none of the xs: its gradient exists with respect to itself only"
                  : " itself: call backward on what was computed from it");
  if (impl.node < 0)
    fail(
        "[backward] {} is not on this tape: "
        "it depends on nothing that asks for a gradient, or was computed elsewhere",
        describe(y));
  if (impl.tape / detail::kRounds == serial / detail::kRounds)
    fail(
        "[backward] {} is not on this tape: an earlier backward consumed what it had recorded; keep it with "
        "{{.keep = true}}, or compute again",
        describe(y));
  fail(
      "[backward] {} is not on this tape: it was recorded by another tape; "
      "compute it again while this one lives",
      describe(y));
}

Tensor one_for(const Tensor& y) {
  if (y.count() != 1)
    fail("[backward] y has shape {}, but only a tensor with one element needs no dy: sum it, or pass dy",
         describe(y));
  return full(y.shape(), 1.0, y.dtype());
}

}  // namespace

void Tape::backward(const Tensor& y, BackwardOptions options) { backward(y, one_for(y), options); }

std::vector<Tensor> Tape::gradients(const Tensor& y, std::span<const Tensor> xs, GradientOptions options) {
  return gradients(y, one_for(y), xs, options);
}

void Tape::run(const Tensor& y, const Tensor& dy, detail::BackwardPass& pass) {
  const detail::TensorImpl& impl = y.impl();
  if (detail::context.tape != this) fail("[backward] this tape is not the active one of this thread");
  if (impl.node < 0 && !impl.leaf && impl.computed_off_tape)
    fail("[backward] {} was computed outside the tape: compute it while the tape lives", describe(y));
  const bool on_tape = impl.node >= 0 && impl.tape == serial_;
  const std::int32_t leaf = !on_tape && impl.leaf && pass.wanted ? graph_->number_of(y, serial_, false) : -1;
  if (!on_tape && leaf < 0) refuse_start(y, pass.wanted != nullptr, serial_);
  if (dy.shape() != y.shape() || dy.dtype() != y.dtype())
    fail("[backward] dy is {} {}, but y is {} {}", describe(dy), name_of(dy.dtype()), describe(y),
         name_of(y.dtype()));
  graph_->slots.assign(graph_->nodes.size(), Tensor());
  graph_->leaf_slots.assign(graph_->leaves.size(), Tensor());
  const std::size_t end = graph_->nodes.size();
  const detail::RecordingGuard recording(pass.create_graph);
  try {
    if (pass.wanted) pass.wanted->mark(*graph_, end);
    pass.slot(on_tape ? impl.node : -1 - leaf) = dy;
    if (!graph_->gradient_hooks.empty()) pass.find_due(end);
    pass.run(0, end);
    pass.run_due(0);  // y may be a leaf, on a tape without nodes
  } catch (...) {
    start_over();
    throw;
  }
}

}  // namespace tapestry
