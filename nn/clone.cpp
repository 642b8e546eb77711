// clone(): the table of copied modules and parameters, and the order of the children.
#include <algorithm>

#include "nn/module.hpp"

namespace tapestry {

namespace {

thread_local detail::Cloning* cloning_now = nullptr;

}  // namespace

namespace detail {

Cloning::Cloning(std::optional<DType> dtype_in) : dtype(dtype_in) {
  if (cloning_now) fail("clone() must not be called while another clone is in progress on this thread");
  cloning_now = this;
}

Cloning::~Cloning() { cloning_now = nullptr; }

Cloning& Cloning::active(const std::string& what) {
  if (!cloning_now)
    fail(
        "a {} cannot be copied: pass it by reference, keep several in a List, take a handle of a parameter with "
        "`Tensor w = layer.weight`, or clone() the model",
        what);
  return *cloning_now;
}

void Cloning::refuse_type(const Module& model) {
  fail("clone() must get the concrete type of the model; cast to {} first", model.type_name());
}

void Cloning::order(const Module& model, Module& copy) const {
  auto next = copy.children_.begin();
  for (const Module::Child& child : model.children_) {
    const auto became = [&](const Module::Child& other) {
      if (child.module) return modules.count(child.module) && modules.at(child.module) == other.module;
      return parameters.count(child.parameter) && parameters.at(child.parameter) == other.parameter;
    };
    const auto found = std::find_if(next, copy.children_.end(), became);
    if (found == copy.children_.end()) continue;
    if (child.module) order(*child.module, *found->module);
    std::rotate(next, found, found + 1);
    ++next;
  }
}

}  // namespace detail

}  // namespace tapestry
