#include "nn/attention/weight_recorder.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace tapestry {

namespace {

/// All recorders that are alive, in any thread. Their number, which is usually 0, is read without the lock.
struct Registry {
  std::mutex mutex;
  std::vector<WeightRecorder*> recorders;
  std::atomic<std::size_t> count = 0;
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

WeightRecorder::WeightRecorder(const Attention& attention) : attention_(attention) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.recorders.push_back(this);
  all.count = all.recorders.size();
}

WeightRecorder::~WeightRecorder() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase(all.recorders, this);
  all.count = all.recorders.size();
}

bool WeightRecorder::watches(const Attention& attention) {
  Registry& all = registry();
  if (all.count == 0) return false;
  const std::lock_guard lock(all.mutex);
  return std::any_of(all.recorders.begin(), all.recorders.end(),
                     [&](const WeightRecorder* one) { return &one->attention_ == &attention; });
}

void WeightRecorder::notify(const Attention& attention, const Tensor& weights, const Tensor& positions) {
  Registry& all = registry();
  if (all.count == 0) return;
  const std::lock_guard lock(all.mutex);
  for (WeightRecorder* one : all.recorders) {
    if (&one->attention_ != &attention) continue;
    one->weights_.push_back(weights.detach());
    if (positions.defined()) one->positions_.push_back(positions.detach());
  }
}

void WeightRecorder::clear() {
  weights_.clear();
  positions_.clear();
}

}  // namespace tapestry
