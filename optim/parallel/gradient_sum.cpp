#include "optim/parallel/gradient_sum.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"
#include "optim/parallel/collectives.hpp"

namespace tapestry {

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

class GradientSum::Work {
 public:
  virtual ~Work() = default;
  virtual void backward(Tape& tape, const Tensor& loss, double share) = 0;
  virtual void skip_backward() = 0;
  virtual double finish(double own_share) = 0;
  virtual Size buckets() const = 0;

  double all_reduce_seconds = 0, wait_seconds = 0;

  template <class T>
  class Of;
};

template <class T>
class GradientSum::Work::Of : public GradientSum::Work {
 public:
  Of(Communicator& ranks, std::vector<Tensor> weights, const GradientSumOptions& options)
      : ranks_(ranks), weights_(std::move(weights)), bucket_of_(weights_.size()), overlap_(options.overlap) {
    for (std::size_t w = weights_.size(); w-- > 0;) {
      if (buckets_.empty() || static_cast<Size>(buckets_.back().numbers.size()) >= options.bucket)
        buckets_.emplace_back();
      Bucket& bucket = buckets_.back();
      bucket_of_[w] = {buckets_.size() - 1, bucket.weights.size()};
      bucket.weights.push_back(w);
      bucket.begins.push_back(static_cast<Size>(bucket.numbers.size()));
      bucket.numbers.resize(bucket.numbers.size() + static_cast<std::size_t>(weights_[w].count()));
    }
    for (Bucket& bucket : buckets_) bucket.numbers.resize(bucket.numbers.size() + bucket.weights.size() + 1);
    start_over();
    if (overlap_) sender_ = std::thread([this] { send_full_buckets(); });
  }

  ~Of() override {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    if (sender_.joinable()) sender_.join();
  }

  void backward(Tape& tape, const Tensor& loss, double share) override {
    for (std::size_t w = 0; w < weights_.size(); ++w)
      if (weights_[w].requires_grad())
        tape.on_gradient(weights_[w], [this, w](const Tensor& gradient) {
          copy_to_bucket(w, &gradient);
          return Tensor();
        });
    tape.backward(loss, full(loss.shape(), share, loss.dtype()));
    skip_backward();
  }

  /// Completes the weights that backward did not reach: the gradients that they already have are sent.
  void skip_backward() override {
    for (std::size_t w = 0; w < weights_.size(); ++w) copy_to_bucket(w, nullptr);
  }

  double finish(double own_share) override {
    const double begun = now();
    {
      std::unique_lock lock(mutex_);
      share_ = own_share;
      share_known_ = true;
      changed_.notify_all();
      if (overlap_) changed_.wait(lock, [&] { return sent_ == buckets_.size() || error_; });
    }
    if (!overlap_) try {
        for (Bucket& bucket : buckets_) send(bucket);
      } catch (...) {
        error_ = std::current_exception();
      }
    wait_seconds = now() - begun;
    all_reduce_seconds = std::exchange(sending_, 0);
    for (const Tensor& weight : weights_) weight.clear_grad();
    if (error_) std::rethrow_exception(error_);
    const double all = total_;
    for (Bucket& bucket : buckets_) set_gradients(bucket, all);
    start_over();
    return all;
  }

  Size buckets() const override { return static_cast<Size>(buckets_.size()); }

 private:
  /// Gradients of some weights, concatenated. Two kinds of numbers follow: for each weight, the number of ranks on
  /// which it has a gradient; and the rank's share of the step (0 except in the last bucket).
  struct Bucket {
    std::vector<std::size_t> weights;
    std::vector<Size> begins;
    std::vector<T> numbers;
    std::size_t missing = 0;  // gradients that are not complete yet

    T& present(std::size_t i) { return numbers[numbers.size() - 1 - weights.size() + i]; }
  };

  void start_over() {
    const std::lock_guard lock(mutex_);
    for (Bucket& bucket : buckets_) bucket.missing = bucket.weights.size();
    copied_.assign(weights_.size(), 0);
    full_ = sent_ = 0;
    share_known_ = false;
  }

  /// Adds the complete gradient of weight w, and the one that the weight had before, into its bucket.
  void copy_to_bucket(std::size_t w, const Tensor* gradient) {
    if (std::exchange(copied_[w], 1)) return;
    const auto [b, i] = bucket_of_[w];
    Bucket& bucket = buckets_[b];
    T* out = bucket.numbers.data() + bucket.begins[i];
    const Size count = weights_[w].count();
    const bool had = weights_[w].requires_grad() && weights_[w].has_grad();
    std::fill(out, out + count, T{0});
    const auto add = [&](const Tensor& x) {
      const Tensor dense = contiguous(x.detach());
      const T* from = dense.template data<T>();
      for (Size k = 0; k < count; ++k) out[k] += from[k];
    };
    if (had) add(weights_[w].grad());
    if (gradient) add(*gradient);
    bucket.present(i) = had || gradient ? T{1} : T{0};
    if (--bucket.missing > 0) return;
    const std::lock_guard lock(mutex_);
    while (full_ < buckets_.size() && buckets_[full_].missing == 0) ++full_;
    changed_.notify_all();
  }

  void send(Bucket& bucket) {
    const double begun = now();
    const bool last = &bucket == &buckets_.back();
    bucket.numbers.back() = last ? static_cast<T>(share_) : T{0};
    ring_all_reduce(ranks_, std::span<T>(bucket.numbers));
    if (last) total_ = static_cast<double>(bucket.numbers.back());
    sending_ += now() - begun;
  }

  /// Runs on the thread sender_: sends buckets in order as they become full, and the last one once share_ is known.
  void send_full_buckets() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] {
        const bool last = sent_ + 1 == buckets_.size();
        return over_ || (sent_ < full_ && !error_ && (!last || share_known_));
      });
      if (over_) return;
      Bucket& bucket = buckets_[sent_];
      lock.unlock();
      std::exception_ptr error;
      try {
        send(bucket);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error;
      if (!error) ++sent_;
      changed_.notify_all();
    }
  }

  /// Sets the gradients of a bucket's weights to the sums divided by `all`.
  void set_gradients(Bucket& bucket, double all) {
    for (std::size_t i = 0; i < bucket.weights.size(); ++i) {
      const Tensor& weight = weights_[bucket.weights[i]];
      if (!weight.requires_grad() || bucket.present(i) == T{0}) continue;
      Tensor gradient = Tensor::uninitialised(weight.shape(), weight.dtype());
      T* out = gradient.template mutable_data<T>();
      const T* from = bucket.numbers.data() + bucket.begins[i];
      for (Size k = 0; k < weight.count(); ++k) out[k] = static_cast<T>(static_cast<double>(from[k]) / all);
      weight.impl().leaf->grad = gradient;
    }
  }

  Communicator& ranks_;
  std::vector<Tensor> weights_;
  std::vector<std::pair<std::size_t, std::size_t>> bucket_of_;  // of each weight: bucket, index in it
  std::vector<char> copied_;  // 1: copy_to_bucket() has handled it in this step
  std::vector<Bucket> buckets_;
  bool overlap_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::size_t full_ = 0, sent_ = 0;  // numbers of buckets, counted from the first
  bool share_known_ = false, over_ = false;
  double share_ = 0, total_ = 0, sending_ = 0;
  std::exception_ptr error_;
  std::thread sender_;
};

GradientSum::GradientSum(Communicator& ranks, std::vector<Tensor> weights, GradientSumOptions options) {
  if (weights.empty()) fail("[GradientSum] weights must not be empty");
  const DType dtype = weights.front().dtype();
  for (const Tensor& weight : weights) {
    if (!weight.impl().leaf) fail("[GradientSum] weights must be leaves, got {}", describe(weight));
    if (weight.dtype() != dtype)
      fail("[GradientSum] weights must have one type, got {} of type {} and others of type {}",
           describe(weight), name_of(weight.dtype()), name_of(dtype));
  }
  dispatch(dtype, [&](auto zero) {
    work_ = std::make_unique<Work::Of<decltype(zero)>>(ranks, std::move(weights), options);
  });
}

GradientSum::~GradientSum() = default;

void GradientSum::backward(Tape& tape, const Tensor& loss, double share) {
  work_->backward(tape, loss, share);
}
void GradientSum::skip_backward() { work_->skip_backward(); }
double GradientSum::finish(double own_share) { return work_->finish(own_share); }
Size GradientSum::buckets() const { return work_->buckets(); }
double GradientSum::all_reduce_seconds() const { return work_->all_reduce_seconds; }
double GradientSum::wait_seconds() const { return work_->wait_seconds; }

}  // namespace tapestry
