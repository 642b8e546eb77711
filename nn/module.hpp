// Modules and parameters: naming, registering, saving, loading and copying the weights of a model.
//
//     struct Net : Module {
//       Linear hidden{{*this, "hidden"}, 2, 8};
//       Linear out{{*this, "out"}, 8, 1};
//     };
//     Net net;
//     net.initialise(seed);
//
// Parameters and layers register themselves with the module that they are members of.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "core/io/state.hpp"
#include "core/tensor/tensor.hpp"
#include "nn/initialise.hpp"

namespace tapestry {

class Module;
class Parameter;
namespace detail {
class Cloning;
}

/// Parent and name of a module, written {*this, "name"}. A module made with Parent{} is the root of a model. With a
/// parent and an empty name, the module adds no prefix to the names of its children.
struct Parent {
  Parent() = default;
  /// Also records sizeof(Owner) in the parent, so that it can find members in its memory that were made without a
  /// Parent.
  template <std::derived_from<Module> Owner>
  Parent(Owner& parent_in, std::string name_in);
  /// Fails to compile, because the class of the parent does not derive from Module.
  template <class Other>
  requires(std::is_class_v<Other> && !std::derived_from<Other, Module>) Parent(Other&, const std::string&) {
    static_assert(sizeof(Other) == 0,
                  "the class that has layers must derive from Module: struct MyModel : Module");
  }

  Module* module = nullptr;  // null for the root of a model
  std::string name;          // name within that module
};

/// Base class of layers and models. Modules can be neither copied nor moved; use clone() to make a copy.
class Module {
 public:
  Module() : Module(Parent{}) {}
  explicit Module(Parent parent);
  /// Copy constructor for clone() only; throws anywhere else.
  Module(const Module& other);
  Module& operator=(const Module&) = delete;
  virtual ~Module();

  /// Returns all parameters of this module and its children, in the order of registration. Tied parameters
  /// appear once. Each tensor has the full name of its parameter.
  std::vector<Tensor> parameters() const;
  /// Returns all parameters by their name relative to this module ("encoder.rnn.weight_ih_l0"). Tied parameters appear
  /// once. The tensors are detached but share memory with the weights, so they show later changes of the weights. For a
  /// parameter that has no values yet, the state contains the leaf itself.
  State state() const;
  /// Copies values into the parameters. Values are converted to the parameter's dtype; a parameter without values takes
  /// the dtype of the given tensor. A tied parameter may be given under any of its names. If names are missing or
  /// unknown, shapes are wrong, or tied names have different values, throws one error that lists all of these and
  /// changes no parameter. Also throws if a member layer was made without a Parent.
  void load_state(const State& state);

  /// Gives every parameter its initial values. The random numbers depend only on the seed and on the full name of the
  /// parameter, not on the order of construction. The f32 values are the f64 values, rounded. Like load_state(),
  /// throws if a member layer was made without a Parent.
  void initialise(std::uint64_t seed, DType dtype = DType::f32);

  /// Makes parameters constant (freeze) or trainable again (unfreeze). `part` is the name of a parameter or module
  /// ("encoder"). An empty name selects all parameters. Throws if no parameter matches.
  void freeze(std::string_view part = {}) { set_frozen_part(part, true); }
  void unfreeze(std::string_view part = {}) { set_frozen_part(part, false); }

  /// Sets training mode, in which dropout is active. A new module is in training mode.
  void train() { set_training(true); }
  /// Sets eval mode, in which dropout is inactive.
  void eval() { set_training(false); }
  /// Returns true in training mode.
  bool training() const { return training_; }
  /// Throws if this module or any of its children is in training mode. `what` names the model in the message.
  void require_eval(const char* what) const;

  /// Full name from the root of the model ("decoder.attention"); empty for the root.
  std::string full_name() const;
  /// Returns the full name for messages such as fail("[attention{}] …", in_quotes()): a space, then the name
  /// in quotes (` "decoder.attention"`). Returns an empty string for the root.
  std::string in_quotes() const;

  /// A registered child: exactly one of the two pointers is set.
  struct Child {
    Module* module = nullptr;        // a layer
    Parameter* parameter = nullptr;  // a weight
  };
  /// Direct children (layers and parameters), in the order of registration.
  const std::vector<Child>& children() const { return children_; }
  /// Name within the parent.
  const std::string& name() const { return name_; }
  /// Human-readable name of the concrete type.
  std::string type_name() const;

 private:
  friend class Parameter;
  friend class Evaluating;
  friend class detail::Cloning;
  friend struct Parent;
  /// A parameter with its name relative to the module that collects it.
  struct NamedParameter {
    std::string path;
    const Parameter* parameter;
  };
  void attach(Module& parent);
  void adopt(Child child, const std::string& name);
  void release(const Child& child) noexcept;
  void check_members_are_registered() const;
  template <class Concrete>
  static Module& with_extent(Concrete& module) {
    Module& base = module;
    const std::ptrdiff_t before =
        reinterpret_cast<const char*>(&base) - reinterpret_cast<const char*>(&module);
    base.extent_ = std::max(base.extent_, static_cast<std::ptrdiff_t>(sizeof(Concrete)) - before);
    return base;
  }
  void collect(const std::string& prefix, std::vector<NamedParameter>& entries) const;
  std::vector<NamedParameter> named_parameters() const;
  std::vector<NamedParameter> distinct_parameters() const;
  void set_frozen_part(std::string_view part, bool frozen);
  void set_training(bool on);

  Module* parent_ = nullptr;
  std::string name_;
  std::vector<Child> children_;
  bool training_ = true;
  bool is_root_ = false;  // listed in the registry of modules without a Parent
  // Bytes from `this` to the end of the complete object, as its members report it when they register; 0 before the
  // first one.
  std::ptrdiff_t extent_ = 0;
};

template <std::derived_from<Module> Owner>
Parent::Parent(Owner& parent_in, std::string name_in)
    : module(&Module::with_extent(parent_in)), name(std::move(name_in)) {}

/// A trainable weight: a leaf tensor that is a member of a module. It has no values until the model is
/// initialised or loaded.
///     Parameter weight{*this, "weight", {out, in}, xavier};
/// A Parameter can be used as a Tensor but cannot be copied. `Tensor w = layer.weight;` makes a tensor that shares its
/// values and gradient. The constructor throws if the name is empty or already used in the module, or if a size is
/// negative.
class Parameter : public Tensor {
 public:
  /// An empty handle, for an optional parameter that a layer does not have.
  Parameter() = default;
  template <std::derived_from<Module> Owner>
  Parameter(Owner& owner, std::string name, const Dims& shape, Initialiser initialiser)
      : Parameter(&Module::with_extent(owner), std::move(name), shape, std::move(initialiser)) {}
  /// Fail to compile: the owner does not derive from Module, or the initial values or the owner are missing.
  template <class Other>
  requires(!std::derived_from<Other, Module>)
      Parameter(Other&, const std::string&, const Dims&, const Initialiser&) {
    static_assert(sizeof(Other) == 0,
                  "the class that has parameters must derive from Module: struct MyLayer : Module");
  }
  template <class Owner>
  Parameter(Owner&, const std::string&, const Dims&) {
    static_assert(
        sizeof(Owner) == 0,
        "a Parameter must have initial values, its last argument: xavier, zeros, constant(c), normal(std)");
  }
  template <std::convertible_to<std::string> Name>
  Parameter(const Name&, const Dims&, const Initialiser&) {
    static_assert(sizeof(Name) == 0,
                  "a Parameter must have its module as first argument: {*this, \"name\", shape, xavier}");
  }
  /// Copy constructor for clone() only; throws anywhere else.
  Parameter(const Parameter& other);
  Parameter& operator=(const Parameter&) = delete;
  ~Parameter();

  /// Ties this parameter to `other`: both become one leaf with the same values and one gradient. The leaf is listed
  /// once, under the name of `other`. Throws if the shapes differ.
  void tie(const Parameter& other);

  /// Name within its module ("weight"). Tensor's name() is the full name.
  const std::string& own_name() const { return name_; }

 private:
  friend class Module;
  Parameter(Module* owner, std::string name, const Dims& shape, Initialiser initialiser);
  std::string path() const;
  /// Returns false for a parameter that was tied to another one.
  bool names_its_leaf() const { return path() == Tensor::name(); }
  void initialise(std::uint64_t seed, DType dtype) const;

  Module* owner_ = nullptr;
  std::string name_;
  Initialiser initialiser_ = zeros;
};

namespace detail {

/// Records the size of a module's class, as Parent's constructor does. So initialise() finds members without a Parent
/// even in a module in which no member has one. List and ModulePtr call it.
template <std::derived_from<Module> M>
void tell_size(M& module) {
  static_cast<void>(Parent(module, ""));
}

/// Returns true if M can be constructed from (Parent, args…). Otherwise a static_assert fails with a message that shows
/// the constructor to write.
template <class M, class... Args>
constexpr bool can_construct() {
  constexpr bool kCan = std::is_constructible_v<M, Parent, Args...>;
  static_assert(
      kCan,
      "the class must have a constructor (Parent parent, ...) for these arguments, which passes the Parent on: "
      "MyLayer(Parent parent, Size width) : Module(std::move(parent)), ...");
  return kCan;
}

}  // namespace detail

/// A list of modules of one type, named 0, 1, … The addresses of the modules never change.
///     List<Block> blocks{{*this, "blocks"}, 4, width};   // four Blocks, each from (Parent, width)
template <class M>
class List : public Module {
 public:
  explicit List(Parent parent) : Module(std::move(parent)) {}
  template <class... Args>
  List(Parent parent, Size count, const Args&... args) : Module(std::move(parent)) {
    for (Size i = 0; i < count; ++i) add(args...);
  }

  /// Appends a module constructed from (Parent, args…) and returns it.
  template <class... Args>
  M& add(Args&&... args) {
    if constexpr (detail::can_construct<M, Args...>())
      detail::tell_size(
          modules_.emplace_back(Parent{*this, std::to_string(modules_.size())}, std::forward<Args>(args)...));
    return modules_.back();
  }
  Size size() const { return static_cast<Size>(modules_.size()); }
  M& operator[](Size i) { return modules_.at(static_cast<std::size_t>(i)); }
  const M& operator[](Size i) const { return modules_.at(static_cast<std::size_t>(i)); }
  auto begin() { return modules_.begin(); }
  auto end() { return modules_.end(); }
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }

 private:
  std::deque<M> modules_;  // a deque never moves its elements when it grows
};

namespace detail {

/// State of a clone() in progress. While it exists, the copy constructors of Module and Parameter work on this thread.
/// They record each copy in it, and look up the copies of parents and of tied parameters.
class Cloning {
 public:
  explicit Cloning(std::optional<DType> dtype);
  ~Cloning();
  Cloning(const Cloning&) = delete;
  Cloning& operator=(const Cloning&) = delete;

  /// Returns the clone in progress on this thread. If there is none, throws an error that begins with `what`.
  static Cloning& active(const std::string& what);
  [[noreturn]] static void refuse_type(const Module& model);

  /// Sorts the children of the copy into the order of the original. The orders can differ: members are copied in the
  /// order of declaration, but a constructor may have registered them in another order.
  void order(const Module& model, Module& copy) const;

  std::optional<DType> dtype;
  std::map<const Module*, Module*> modules;
  std::map<const Parameter*, Parameter*> parameters;
  std::map<const TensorImpl*, Tensor> leaves;
};

}  // namespace detail

/// Returns a copy of a model with the same values, converted to `dtype` if one is given. Use it for gradient checks in
/// f64, or to keep an average of the weights. Tied parameters stay tied, and frozen ones stay frozen. Children keep
/// their order. Gradients are not copied. Other members are copied by their copy constructors. So in the copy, a
/// pointer or reference to a part of the model still refers to the original. Throws if M is not the concrete type of
/// the model.
template <class M>
std::unique_ptr<M> clone(const M& model, std::optional<DType> dtype = {}) {
  if (typeid(model) != typeid(M)) detail::Cloning::refuse_type(model);
  detail::Cloning cloning(dtype);
  auto copy = std::make_unique<M>(model);
  cloning.order(model, *copy);
  return copy;
}

/// A guard that sets a model to eval mode; its destructor restores the previous mode of every module.
class Evaluating {
 public:
  explicit Evaluating(Module& model);
  ~Evaluating();
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;

 private:
  Module& model_;
  std::map<const Module*, bool> before_;  // true: was in training mode
};

/// Returns a table of the modules and parameters with type, shape, number of weights, and memory.
std::string summary(const Module& model);

}  // namespace tapestry
