// A part of a model whose type is chosen at run time: held by its base class, and copied with the model by
// clone().
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "core/tensor/error.hpp"

namespace tapestry {

/// Holds a module of some class derived from M, or none. It learns how to copy the module where it gets it, so
/// the class has nothing to add.
template <class M>
class ModulePtr {
 public:
  ModulePtr() = default;
  template <std::derived_from<M> D>
  requires(!std::is_abstract_v<D>) ModulePtr(std::unique_ptr<D> module) : module_(std::move(module)) {
    copy_ = [](const M& original) -> std::unique_ptr<M> {
      if (typeid(original) != typeid(D))
        fail("clone() met a part of another type than it was handed over as");
      return std::make_unique<D>(static_cast<const D&>(original));
    };
  }
  /// As for modules: works inside clone() only.
  ModulePtr(const ModulePtr& other)
      : module_(other.module_ ? other.copy_(*other.module_) : nullptr), copy_(other.copy_) {}
  ModulePtr(ModulePtr&&) noexcept = default;
  ModulePtr& operator=(const ModulePtr&) = delete;

  /// Whether it holds one, as a bool; * and -> give the module that it holds.
  explicit operator bool() const { return static_cast<bool>(module_); }
  M& operator*() { return *module_; }
  M* operator->() { return module_.get(); }
  const M& operator*() const { return *module_; }
  const M* operator->() const { return module_.get(); }

 private:
  std::unique_ptr<M> module_;
  std::unique_ptr<M> (*copy_)(const M&) = nullptr;
};

}  // namespace tapestry
