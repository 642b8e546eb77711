// A smart pointer to a module whose type is chosen at run time. clone() copies the module with its model.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "core/tensor/error.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// Owns a module of a class derived from M, or nothing. M derives from Module. The constructor records how to copy that
/// class, so the class needs no clone method.
template <class M>
class ModulePtr {
 public:
  ModulePtr() = default;
  template <std::derived_from<M> D>
  requires(!std::is_abstract_v<D>) ModulePtr(std::unique_ptr<D> module) : module_(std::move(module)) {
    copy_ = [](const M& original) -> std::unique_ptr<M> {
      if (typeid(original) != typeid(D))
        fail("clone(): a ModulePtr must be made from a pointer to the concrete type, got a base class");
      return std::make_unique<D>(static_cast<const D&>(original));
    };
    if (module_) detail::tell_size(static_cast<D&>(*module_));
  }
  /// Copies the module. Throws outside clone(), as the copy constructor of Module does.
  ModulePtr(const ModulePtr& other)
      : module_(other.module_ ? other.copy_(*other.module_) : nullptr), copy_(other.copy_) {}
  ModulePtr(ModulePtr&&) noexcept = default;
  ModulePtr& operator=(const ModulePtr&) = delete;

  /// Returns true if it owns a module; * and -> access that module.
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
