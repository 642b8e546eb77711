#include "nn/module.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>

#include "core/io/restore.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

std::string join(const std::string& prefix, const std::string& name) {
  if (prefix.empty()) return name;
  if (name.empty()) return prefix;
  return prefix + "." + name;
}

/// Makes a leaf without values.
Tensor empty_leaf(const Dims& shape, DType dtype, std::string name) {
  detail::Ref<detail::TensorImpl> impl = detail::TensorImpl::make(dtype, shape);
  impl->leaf = std::make_unique<detail::Leaf>();
  impl->leaf->name = std::move(name);
  return Tensor::from_impl(std::move(impl));
}

/// Changes the element type of a leaf. If the type differs, drops the values and the gradient.
void retype(const Tensor& leaf, DType dtype) {
  detail::TensorImpl& impl = leaf.impl();
  if (impl.dtype == dtype) return;
  impl.dtype = dtype;
  impl.buffer = {};
  impl.offset = 0;
  impl.stride = dense_strides(impl.shape);
  leaf.clear_grad();
}

/// Returns true if all elements are equal; two NaN count as equal.
bool same_values(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](double one, double other) {
    return one == other || (std::isnan(one) && std::isnan(other));
  });
}

bool is_within(std::string_view path, std::string_view part) {
  return part.empty() || path == part ||
         (path.size() > part.size() && path.substr(0, part.size()) == part && path[part.size()] == '.');
}

/// Registry of modules without a Parent, by address: roots of models, and layers made without one by mistake.
struct Roots {
  std::mutex mutex;
  std::set<const Module*, std::less<>> modules;
};

Roots& roots() {
  static Roots& all = *new Roots;  // never destroyed: a global module may outlive a static registry
  return all;
}

}  // namespace

Module::Module(Parent parent) : name_(std::move(parent.name)) {
  is_root_ = parent.module == nullptr;
  if (!is_root_) {
    attach(*parent.module);
    return;
  }
  const std::lock_guard lock(roots().mutex);
  roots().modules.insert(this);
}

/// Throws if a member was made without a Parent: it would not be trained, saved or set to eval mode.
void Module::check_members_are_registered() const {
  {
    const std::lock_guard lock(roots().mutex);
    const auto next = roots().modules.upper_bound(this);
    if (next != roots().modules.end() &&
        reinterpret_cast<const char*>(*next) - reinterpret_cast<const char*>(this) < extent_)
      fail(
          "a {} is a member of the {}{} but was made without a Parent, so it would not be trained or saved: make it with "
          "{{*this, \"name\"}} as its first argument",
          (*next)->type_name(), type_name(), in_quotes());
  }
  for (const Child& child : children_)
    if (child.module) child.module->check_members_are_registered();
}

Module::Module(const Module& other) : training_(other.training_), extent_(other.extent_) {
  auto& cloning = detail::Cloning::active("module " + other.type_name() + other.in_quotes());
  cloning.modules[&other] = this;
  if (const auto parent = cloning.modules.find(other.parent_); parent != cloning.modules.end()) {
    name_ = other.name_;
    attach(*parent->second);
  }
}

Module::~Module() {
  if (parent_) parent_->release({this, nullptr});
  if (is_root_) {
    const std::lock_guard lock(roots().mutex);
    roots().modules.erase(this);
  }
  for (const Child& child : children_) {
    if (child.module) child.module->parent_ = nullptr;
    if (child.parameter) child.parameter->owner_ = nullptr;
  }
}

void Module::attach(Module& parent) {
  parent.adopt({this, nullptr}, name_);
  parent_ = &parent;
}

void Module::adopt(Child child, const std::string& name) {
  for (const Child& other : children_)
    if (!name.empty() && name == (other.module ? other.module->name_ : other.parameter->name_))
      fail("[module{}] the names of children must be unique, got \"{}\" twice; rename one of them",
           in_quotes(), name);
  children_.push_back(child);
}

void Module::release(const Child& child) noexcept {
  const auto same = [&](const Child& other) {
    return other.module == child.module && other.parameter == child.parameter;
  };
  children_.erase(std::remove_if(children_.begin(), children_.end(), same), children_.end());
}

std::string Module::full_name() const { return parent_ ? join(parent_->full_name(), name_) : name_; }

std::string Module::in_quotes() const {
  const std::string name = full_name();
  return name.empty() ? name : " \"" + name + "\"";
}

std::string Module::type_name() const {
  int status = 0;
  char* readable = abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? readable : typeid(*this).name();
  std::free(readable);
  for (const std::string& prefix : {std::string("tapestry::"), std::string("(anonymous namespace)::")})
    for (auto at = name.find(prefix); at != std::string::npos; at = name.find(prefix))
      name.erase(at, prefix.size());
  return name;
}

void Module::collect(const std::string& prefix, std::vector<NamedParameter>& entries) const {
  for (const Child& child : children_) {
    if (child.module) child.module->collect(join(prefix, child.module->name_), entries);
    if (child.parameter) entries.push_back({join(prefix, child.parameter->name_), child.parameter});
  }
}

std::vector<Module::NamedParameter> Module::named_parameters() const {
  std::vector<NamedParameter> entries;
  collect({}, entries);
  return entries;
}

/// Returns one entry for each leaf, in order of first appearance. Of tied parameters, it keeps the one that named the
/// leaf, if this module contains it.
std::vector<Module::NamedParameter> Module::distinct_parameters() const {
  std::vector<NamedParameter> distinct;
  std::map<const detail::TensorImpl*, std::size_t> place;
  for (NamedParameter& entry : named_parameters()) {
    const auto [at, is_new] = place.emplace(entry.parameter->ref().get(), distinct.size());
    if (is_new)
      distinct.push_back(std::move(entry));
    else if (entry.parameter->names_its_leaf())
      distinct[at->second] = std::move(entry);
  }
  return distinct;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> leaves;
  for (const NamedParameter& entry : distinct_parameters()) leaves.push_back(*entry.parameter);
  return leaves;
}

State Module::state() const {
  State state;
  for (const NamedParameter& entry : distinct_parameters()) {
    const Tensor leaf = *entry.parameter;
    if (!state.emplace(entry.path, leaf.impl().buffer ? leaf.detach() : leaf).second)
      fail("parameter names must be unique, got \"{}\" twice; rename one of them", entry.path);
  }
  return state;
}

void Module::load_state(const State& state) {
  check_members_are_registered();
  // A tied parameter may be given under any of its names. Map each of them to the name that state() uses.
  std::map<const detail::TensorImpl*, std::string> name_of;
  State living;
  for (const NamedParameter& entry : distinct_parameters()) {
    name_of[entry.parameter->ref().get()] = entry.path;
    living.emplace(entry.path, *entry.parameter);
  }
  State given = state;
  std::map<std::string, std::string> given_as;
  std::vector<std::string> faults;
  for (const NamedParameter& entry : named_parameters()) {
    const auto found = state.find(entry.path);
    if (found == state.end()) continue;
    const std::string& name = name_of.at(entry.parameter->ref().get());
    if (entry.path != name) given.erase(entry.path);
    if (const auto [first, is_new] = given_as.emplace(name, entry.path); is_new)
      given.insert_or_assign(name, found->second);
    else if (!same_values(given.at(name), found->second))
      faults.push_back(
          fmt::format("\"{}\" and \"{}\" are tied and must have equal values", first->second, entry.path));
  }
  restore(living, given, "the weights do not fit the model", OtherTypes::converted, std::move(faults));
}

void Module::initialise(std::uint64_t seed, DType dtype) {
  check_members_are_registered();
  for (const NamedParameter& entry : distinct_parameters()) entry.parameter->initialise(seed, dtype);
}

void Module::set_frozen_part(std::string_view part, bool frozen) {
  bool any = false;
  for (const NamedParameter& entry : named_parameters()) {
    if (!is_within(entry.path, part)) continue;
    set_frozen(*entry.parameter, frozen);
    any = true;
  }
  if (!any) {
    std::vector<std::string> names;
    for (const NamedParameter& entry : named_parameters()) names.push_back(entry.path);
    fail("part must name a parameter or a module, got \"{}\"; the parameters are: {}", part,
         fmt::join(names, ", "));
  }
}

void Module::require_eval(const char* what) const {
  if (training_)
    fail(
        "the {} must be in eval mode, got a module in training mode, where dropout is active; call eval() first",
        what);
  for (const Child& child : children_)
    if (child.module) child.module->require_eval(what);
}

void Module::set_training(bool on) {
  training_ = on;
  for (const Child& child : children_)
    if (child.module) child.module->set_training(on);
}

Parameter::Parameter(Module* owner, std::string name, const Dims& shape, Initialiser initialiser)
    : Tensor(empty_leaf(shape, DType::f32, join(owner->full_name(), name))),
      owner_(owner),
      name_(std::move(name)),
      initialiser_(std::move(initialiser)) {
  if (name_.empty()) fail("[module{}] a parameter must have a name, got an empty one", owner->in_quotes());
  for (Size size : shape)
    if (size < 0)
      fail("parameter \"{}\" must have sizes of 0 or more, got shape {}", Tensor::name(), to_string(shape));
  owner->adopt({nullptr, this}, name_);
}

Parameter::Parameter(const Parameter& other)
    : Tensor(), name_(other.name_), initialiser_(other.initialiser_) {
  if (!other.defined()) return;
  auto& cloning = detail::Cloning::active("parameter \"" + other.Tensor::name() + "\"");
  const auto owner = cloning.modules.find(other.owner_);
  if (owner == cloning.modules.end())
    fail("parameter \"{}\" must be copied together with its module; keep a Tensor handle instead",
         other.Tensor::name());
  owner_ = owner->second;
  Tensor& leaf = cloning.leaves[other.ref().get()];
  if (!leaf.defined()) {
    leaf = empty_leaf(other.shape(), cloning.dtype.value_or(other.dtype()), path());
    leaf.impl().leaf->frozen = other.impl().leaf->frozen;
    if (other.impl().buffer) assign(leaf, other);
  } else if (other.names_its_leaf()) {
    leaf.impl().leaf->name = path();
  }
  Tensor::operator=(leaf);
  owner_->adopt({nullptr, this}, name_);
  cloning.parameters[&other] = this;
}

Parameter::~Parameter() {
  if (owner_) owner_->release({nullptr, this});
}

std::string Parameter::path() const { return owner_ ? join(owner_->full_name(), name_) : name_; }

void Parameter::tie(const Parameter& other) {
  if (shape() != other.shape())
    fail("[tie] parameters must have the same shape, got {} and {}", describe(*this), describe(other));
  Tensor::operator=(other);
}

void Parameter::initialise(std::uint64_t seed, DType dtype) const try {
  std::vector<double> values(static_cast<std::size_t>(count()));
  const Stream stream(seed, hash_of(Tensor::name()));
  initialiser_(InitialiserArguments(values, shape(), stream));
  retype(*this, dtype);
  Tensor leaf = *this;
  assign(leaf, tensor(values, shape(), DType::f64));
} catch (const std::length_error&) {
  fail("[initialise] parameter \"{}\" {} has more elements than memory can hold", Tensor::name(),
       to_string(shape()));
} catch (const std::bad_alloc&) {
  fail("[initialise] there is not enough memory for the values of parameter \"{}\" {}", Tensor::name(),
       to_string(shape()));
}

namespace {

template <class F>
void for_each(Module& model, const F& f) {
  f(model);
  for (const Module::Child& child : model.children())
    if (child.module) for_each(*child.module, f);
}

}  // namespace

Evaluating::Evaluating(Module& model) : model_(model) {
  for_each(model, [&](const Module& module) { before_[&module] = module.training(); });
  model.eval();
}

Evaluating::~Evaluating() {
  for_each(model_, [&](Module& module) {
    if (const auto found = before_.find(&module); found != before_.end()) module.training_ = found->second;
  });
}

}  // namespace tapestry
