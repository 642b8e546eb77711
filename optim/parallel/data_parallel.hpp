// One training step on many ranks: each works through its rows of the global batch, and all get the gradient of
// the whole (data parallelism).
//
//     DataParallel all(ranks, model.parameters(), {.parts = 8});
//     all.start_from(model.state());                        // rank 0's first values, or its checkpoint's
//     for (std::uint64_t step = 1; step <= steps; ++step) {
//       const Batch batch = draw(seed, step);               // the global one, the same on every rank
//       const double loss = all.gradients(seed, step, [&](const Part& part) {
//         const Batch rows = batch.rows(part.begin(64), part.end(64));
//         return PartLoss{cross_entropy(model(rows.inputs), rows.targets), rows.answers()};
//       });
//       clip_gradients(model.parameters(), 1);
//       adam.step(schedule(step));
//     }
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/io/state.hpp"
#include "optim/parallel/gradient_sum.hpp"

namespace tapestry {

/// One of `of` pieces of a global batch.
struct Part {
  int index = 0, of = 1;  // index from 0 to of − 1
  /// Its rows among so many: [begin, end). Parts differ by a row at most.
  Size begin(Size rows) const { return rows * index / of; }
  Size end(Size rows) const { return rows * (index + 1) / of; }
};

/// A part's mean loss, and over how many things that is a mean: answers that count, not rows, where rows differ. An
/// empty tensor, or a count of 0: there is nothing in this part.
struct PartLoss {
  Tensor mean;       // of one element
  double count = 0;  // of what it is the mean
};

struct DataParallelOptions {
  /// Into how many parts a global batch is cut; 0: one for each rank. With a fixed number the run is the same for
  /// any number of ranks, dropout too, but for the rounding of sums; each rank works through its parts in turn.
  int parts = 0;
  GradientSumOptions sum = {};  // how gradients are sent
};

/// Cuts a global batch into parts, and adds what the ranks make of theirs.
class DataParallel {
 public:
  /// `weights` as GradientSum has them. Throws if there are fewer parts than ranks.
  DataParallel(Communicator& ranks, std::vector<Tensor> weights, DataParallelOptions options = {});

  /// Every rank takes over rank 0's tensors: weights, and an optimiser's state.
  void start_from(const State& state) const;

  /// Leaves in the weights the gradient of the global batch's mean loss, the same bits on every rank, and returns that
  /// loss. loss(part) is called once for each part of this rank; before, the random state is set by seed, step and
  /// part (with one part: set_random(seed, step)). One rank with one part makes exactly what tape.backward(loss) makes.
  /// Throws RankFailure.
  double gradients(std::uint64_t seed, std::uint64_t step, const std::function<PartLoss(const Part&)>& loss);

  /// The parts of this rank: [first_part, end_part).
  int first_part() const { return parts_ * ranks_.rank() / ranks_.size(); }
  int end_part() const { return parts_ * (ranks_.rank() + 1) / ranks_.size(); }
  /// What adds the gradients, with its times; null where there is nothing to add: one rank, one part.
  const GradientSum* sum() const { return sum_ ? &*sum_ : nullptr; }

 private:
  Communicator& ranks_;
  int parts_;
  std::optional<GradientSum> sum_;
};

}  // namespace tapestry
