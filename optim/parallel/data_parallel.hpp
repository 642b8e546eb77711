// Data parallelism: in each training step every rank processes its rows of the global batch, and all ranks get the
// gradient of the whole batch.
//
//     DataParallel all(ranks, model.parameters(), {.parts = 8});
//     all.start_from(model.state());                        // rank 0's first values, or its checkpoint's
//     for (std::uint64_t step = 1; step <= steps; ++step) {
//       const Batch batch = draw(seed, step);               // the global batch, the same on every rank
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

/// One of `of` parts of a global batch.
struct Part {
  int index = 0, of = 1;  // index from 0 to of − 1
  /// First row of this part in a batch of `rows` rows. Parts differ in size by at most one row.
  Size begin(Size rows) const { return rows * index / of; }
  /// Row after the last one of this part.
  Size end(Size rows) const { return rows * (index + 1) / of; }
};

/// Mean loss of a part, and the number of terms in that mean. Where rows have different numbers of targets, count the
/// targets, not the rows. An undefined tensor or a count of 0 means that the part is empty.
struct PartLoss {
  Tensor mean;       // one element
  double count = 0;  // number of terms in the mean
};

/// Settings of DataParallel.
struct DataParallelOptions {
  /// Number of parts of a global batch; 0: one for each rank. Each rank processes its parts in turn. With a fixed
  /// number the results, dropout included, are the same for any number of ranks, except for rounding in the sums.
  int parts = 0;
  GradientSumOptions sum = {};  // options of the gradient all-reduce
};

/// Splits a global batch into parts and sums the ranks' gradients.
class DataParallel {
 public:
  /// `weights` are as in GradientSum. Throws Error if there are fewer parts than ranks.
  DataParallel(Communicator& ranks, std::vector<Tensor> weights, DataParallelOptions options = {});

  /// Copies rank 0's tensors to all ranks: weights, or an optimiser's state.
  void start_from(const State& state) const;

  /// Computes the gradient of the global batch's mean loss, the same bits on every rank, stores it in the weights and
  /// returns the mean loss. Calls loss(part) once for each part of this rank, after setting the random state from seed,
  /// step and part (for part 0: set_random(seed, step)). One rank with one part gives the same bits as
  /// tape.backward(loss). Throws RankFailure.
  double gradients(std::uint64_t seed, std::uint64_t step, const std::function<PartLoss(const Part&)>& loss);

  /// First part of this rank; its parts are [first_part, end_part).
  int first_part() const { return parts_ * ranks_.rank() / ranks_.size(); }
  /// Part after the last one of this rank.
  int end_part() const { return parts_ * (ranks_.rank() + 1) / ranks_.size(); }
  /// The gradient sum, with its timings; null if there is only one part.
  const GradientSum* sum() const { return sum_ ? &*sum_ : nullptr; }

 private:
  Communicator& ranks_;
  int parts_;
  std::optional<GradientSum> sum_;
};

}  // namespace tapestry
