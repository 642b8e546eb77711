// A part of a model behind a pointer to its base class: chosen at run time, and copied with the model by
// clone().
#pragma once

#include <memory>

namespace tapestry {

/// Holds a module of some class derived from M, or none. M has `std::unique_ptr<M> copy() const`.
template <class M>
class Owned {
 public:
  Owned() = default;
  Owned(std::unique_ptr<M> module) : module_(std::move(module)) {}
  /// As for modules: works inside clone() only.
  Owned(const Owned& other) : module_(other.module_ ? other.module_->copy() : nullptr) {}
  Owned(Owned&&) noexcept = default;
  Owned& operator=(const Owned&) = delete;

  explicit operator bool() const { return static_cast<bool>(module_); }
  M& operator*() { return *module_; }
  M* operator->() { return module_.get(); }
  const M& operator*() const { return *module_; }
  const M* operator->() const { return module_.get(); }

 private:
  std::unique_ptr<M> module_;
};

}  // namespace tapestry
