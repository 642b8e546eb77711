#include "optim/parallel/data_parallel.hpp"

#include <utility>

#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"
#include "optim/parallel/collectives.hpp"

namespace tapestry {

DataParallel::DataParallel(Communicator& ranks, std::vector<Tensor> weights, DataParallelOptions options)
    : ranks_(ranks), parts_(options.parts == 0 ? ranks.size() : options.parts) {
  if (parts_ < ranks.size())
    fail("[DataParallel] parts must be at least {1}, the number of ranks, got {0}; add parts", parts_,
         ranks.size());
  if (parts_ > 1) sum_.emplace(ranks, std::move(weights), options.sum);
}

void DataParallel::start_from(const State& state) const { broadcast(ranks_, state); }

double DataParallel::gradients(std::uint64_t seed, std::uint64_t step,
                               const std::function<PartLoss(const Part&)>& loss) {
  if (!sum_) {
    set_random(seed, step);
    Tape tape;
    const PartLoss whole = loss({});
    tape.backward(whole.mean);
    return whole.mean.item();
  }
  double all = 0, count = 0;
  for (int i = first_part(); i < end_part(); ++i) {
    const Part part{i, parts_};
    set_random(i == 0 ? seed : Stream(seed, 0x7061727473).bits(static_cast<std::uint64_t>(i)), step);
    Tape tape;
    const PartLoss mine = loss(part);
    const bool last = i + 1 == end_part();
    if (!mine.mean.defined() || mine.count == 0) {
      if (last) sum_->skip_backward();
      continue;
    }
    if (last)
      sum_->backward(tape, mine.mean, mine.count);
    else
      tape.backward(mine.mean, full(mine.mean.shape(), mine.count, mine.mean.dtype()));
    all += mine.mean.item() * mine.count;
    count += mine.count;
  }
  const double counted = sum_->finish(count);
  ring_all_reduce(ranks_, std::span(&all, 1));
  return all / counted;
}

}  // namespace tapestry
