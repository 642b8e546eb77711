// Storage for derivative rules: closures of any type behind one class.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "core/simd/runtime/memory.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry::detail {

/// A stored closure `void(const Tensor& dy, const Tensor& y, std::span<Tensor> gradients)`. Unlike a std::function, it
/// can only be moved. Small closures are stored in place, larger ones in pool memory.
class BackwardFn {
 public:
  BackwardFn() = default;
  BackwardFn(BackwardFn&& other) noexcept : actions_(std::exchange(other.actions_, nullptr)) {
    if (actions_) actions_->move(storage_, other.storage_);
  }
  BackwardFn& operator=(BackwardFn&& other) noexcept {
    reset();
    actions_ = std::exchange(other.actions_, nullptr);
    if (actions_) actions_->move(storage_, other.storage_);
    return *this;
  }
  ~BackwardFn() { reset(); }

  /// Stores Call{f}, constructed in its final place. A lambda captures const tensors as const members, so moving the
  /// lambda would copy them.
  template <class Call, class F>
  void emplace(const F& f) {
    reset();
    void* place = storage_;
    if constexpr (!fits<Call>()) {
      place = simd::pool_allocate(sizeof(Call));
      *reinterpret_cast<void**>(storage_) = place;
    }
    new (place) Call{f};
    actions_ = &kActions<Call>;
  }
  explicit operator bool() const { return actions_ != nullptr; }
  void operator()(const Tensor& dy, const Tensor& y, std::span<Tensor> gradients) const {
    actions_->call(storage_, dy, y, gradients);
  }
  void reset() {
    if (actions_) std::exchange(actions_, nullptr)->destroy(storage_);
  }

 private:
  static constexpr std::size_t kInPlace = 32;
  struct Actions {
    void (*call)(const std::byte*, const Tensor&, const Tensor&, std::span<Tensor>);
    void (*move)(std::byte*, std::byte*);
    void (*destroy)(std::byte*);
  };
  template <class F>
  static constexpr bool fits() {
    return sizeof(F) <= kInPlace && alignof(F) <= alignof(std::max_align_t) &&
           std::is_nothrow_move_constructible_v<F>;
  }
  template <class F>
  static F& at(std::byte* storage) {
    if constexpr (fits<F>())
      return *std::launder(reinterpret_cast<F*>(storage));
    else
      return **reinterpret_cast<F**>(storage);
  }
  template <class F>
  static constexpr Actions kActions{
      [](const std::byte* storage, const Tensor& dy, const Tensor& y, std::span<Tensor> gradients) {
        at<F>(const_cast<std::byte*>(storage))(dy, y, gradients);
      },
      [](std::byte* to, std::byte* from) {
        if constexpr (fits<F>()) {
          new (to) F(std::move(at<F>(from)));
          at<F>(from).~F();
        } else {
          *reinterpret_cast<void**>(to) = *reinterpret_cast<void**>(from);
        }
      },
      [](std::byte* storage) {
        F& f = at<F>(storage);
        f.~F();
        if constexpr (!fits<F>()) simd::pool_release(&f, sizeof(F));
      }};

  alignas(std::max_align_t) std::byte storage_[kInPlace];
  const Actions* actions_ = nullptr;
};

template <class F>
inline constexpr bool kTakesResult = std::is_invocable_v<const F&, const Tensor&, const Tensor&>;

/// Calls f(dy, y), or f(dy) if f takes one argument.
template <class F>
auto call_backward(const F& f, const Tensor& dy, const Tensor& y) {
  if constexpr (kTakesResult<F>)
    return f(dy, y);
  else
    return f(dy);
}

// Adapters from the function F that an op's author writes to the signature of BackwardFn.

/// The rule of one argument.
template <class F>
struct Single {
  F rule;
  void operator()(const Tensor& dy, const Tensor& y, std::span<Tensor> gradients) const {
    gradients[0] = call_backward(rule, dy, y);
  }
};

/// The accumulator of one argument: adds the argument's gradient to `sums[0]`, which is defined.
template <class F>
struct Accumulate {
  F add;
  void operator()(const Tensor& dy, const Tensor&, std::span<Tensor> sums) const { add(sums[0], dy); }
};

/// The joint rule of several arguments: returns a list with one gradient for each.
template <class F>
struct Joint {
  F rule;
  void operator()(const Tensor& dy, const Tensor& y, std::span<Tensor> gradients) const {
    auto all = call_backward(rule, dy, y);
    if (all.size() != gradients.size())
      fail("a rule of {} arguments must return one gradient for each, got {}; fix the rule", gradients.size(),
           all.size());
    std::move(all.begin(), all.end(), gradients.begin());
  }
};

}  // namespace tapestry::detail
