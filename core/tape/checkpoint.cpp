#include "core/tape/checkpoint.hpp"

#include "core/tape/extended_pass.hpp"
#include "core/tape/saved_tensor_capture.hpp"
#include "core/tensor/random.hpp"

namespace tapestry::detail {

Tensor record_checkpoint(std::function<Tensor()> f, CallSite at) {
  if (!context.tape || !context.recording) return f();
  const RandomState before = random_state();
  Tensor value;
  std::vector<Tensor>
      leaves;  // used by f in addition to its arguments; overwriting them before backward is an error
  {
    struct Watching {
      explicit Watching(std::vector<Tensor>& into) { context.leaves_used = &into; }
      ~Watching() { context.leaves_used = nullptr; }
    } const watching(leaves);
    const RecordingGuard off(false);
    value = f();
  }
  value = alias(value, value.shape(), value.strides());
  Graph& graph = *context.graph;
  graph.extended = run_extended;
  Node& node = graph.append("checkpoint", at, value.impl());
  node.always_replay = true;
  node.replay = static_cast<std::uint32_t>(graph.replays.size());
  auto again = [f = std::move(f), before, leaves](const Tensor&, const Tensor&, std::span<Tensor> result) {
    struct Rewind {
      RandomState now = random_state();
      ~Rewind() { random_state() = now; }
    } rewind;
    random_state() = before;
    result[0] = f();
  };
  {
    Tensor::SavedTensorCapture capture(graph.saved_versions);
    graph.replays.emplace_back().emplace<decltype(again)>(again);
  }
  node.saved = static_cast<std::uint32_t>(graph.saved_versions.size()) - node.first_saved;
  return value;
}

}  // namespace tapestry::detail
