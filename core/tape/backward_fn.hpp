// How the tape keeps a rule: closures of any type behind one.
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

/// A stored closure, `void(const Tensor& dy, const Tensor& y, std::span<Tensor> gradients)`: like
/// std::function, but it may be moved only, and small ones live in place, larger ones in pool memory.
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

  /// Becomes Call{f}, made where it stays: closures capture tensors as constants, which are copied when they
  /// move.
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
inline constexpr bool kAsksForResult = std::is_invocable_v<const F&, const Tensor&, const Tensor&> ||
                                       std::is_invocable_v<const F&, Tensor&, const Tensor&, const Tensor&>;

/// f(dy, y), or f(dy) if it asks for no more.
template <class F>
auto call_backward(const F& f, const Tensor& dy, const Tensor& y) {
  if constexpr (std::is_invocable_v<const F&, const Tensor&, const Tensor&>)
    return f(dy, y);
  else
    return f(dy);
}

// What becomes of an author's function F when it is stored.

/// The rule of one argument.
template <class F>
struct Single {
  F rule;
  void operator()(const Tensor& dy, const Tensor& y, std::span<Tensor> gradients) const {
    gradients[0] = call_backward(rule, dy, y);
  }
};

/// The short cut of one argument: adds its gradient to `sums[0]`, which has a value.
template <class F>
struct Accumulate {
  F add;
  void operator()(const Tensor& dy, const Tensor& y, std::span<Tensor> sums) const {
    if constexpr (kAsksForResult<F>)
      add(sums[0], dy, y);
    else
      add(sums[0], dy);
  }
};

/// The one rule of several arguments, which returns a list of as many gradients.
template <class F>
struct Joint {
  F rule;
  void operator()(const Tensor& dy, const Tensor& y, std::span<Tensor> gradients) const {
    auto all = call_backward(rule, dy, y);
    if (all.size() != gradients.size())
      fail("a rule of {} arguments returned {} gradients: one for each", gradients.size(), all.size());
    std::move(all.begin(), all.end(), gradients.begin());
  }
};

}  // namespace tapestry::detail
