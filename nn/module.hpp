// Modules and their parameters: how a model names, holds, saves and copies its weights.
//
//     struct Net : Module {
//       Linear hidden{{*this, "hidden"}, 2, 8};
//       Linear out{{*this, "out"}, 8, 1};
//     };
//     Net net;
//     net.initialise(seed);
//
// A parameter or a layer that is a member registers itself with the module around it; nobody can forget one.
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

/// Where a module hangs: under a parent with a name, written {*this, "name"}; or nowhere, for the root of a
/// model. With an empty name the children of the module are named as if they were the parent's own.
struct Parent {
  Parent() = default;
  /// `Owner` is the class whose member is being made: its size tells the parent which layers lie inside it.
  template <std::derived_from<Module> Owner>
  Parent(Owner& parent_in, std::string name_in);

  Module* module = nullptr;  // none: the root of a model
  std::string name;          // under that module
};

/// A part of a model. Modules neither copy nor move; clone() makes a second one.
class Module {
 public:
  Module() : Module(Parent{}) {}
  explicit Module(Parent parent);
  /// Only clone() may copy: anywhere else this throws.
  Module(const Module& other);
  Module& operator=(const Module&) = delete;
  virtual ~Module();

  /// Every parameter in here, in the order of registration; tied ones once. Each carries its full name.
  std::vector<Tensor> parameters() const;
  /// Every parameter by its name as seen from this module ("encoder.rnn.weight_ih_l0"); tied ones once. The
  /// tensors view the living weights, and change with them. Those without values are the parameters
  /// themselves.
  State state() const;
  /// Writes values into the parameters, which keep their type (one without values takes the given type).
  /// Names that are missing, names that no parameter has, and wrong shapes are all listed in one error, and
  /// then nothing was written. A tied parameter may come under any of its names.
  void load_state(const State& state);

  /// First values for all parameters: each draws from the seed and its own full name, so the numbers do not
  /// depend on the order, and are the same in f32 (rounded) and f64. Throws if a layer is a member of a module in here
  /// but was made without its Parent; load_state() does too.
  void initialise(std::uint64_t seed, DType dtype = DType::f32);

  /// freeze() makes constants of parameters, unfreeze() lets them learn again. `part` names a parameter or
  /// module in here ("encoder"); empty: all.
  void freeze(std::string_view part = {}) { set_frozen_part(part, true); }
  void unfreeze(std::string_view part = {}) { set_frozen_part(part, false); }

  /// Training mode, in which modules start: dropout works.
  void train() { set_training(true); }
  /// For use: dropout does nothing.
  void eval() { set_training(false); }
  /// Whether it is in training mode.
  bool training() const { return training_; }
  /// Throws if this module or any in here is in training mode; `what` names the model in the message.
  void require_eval(const char* what) const;

  /// The name from the root of the model; empty for the root.
  std::string full_name() const;
  /// For messages, as in fail("[attention{}] …", in_quotes()): ` "decoder.attention"`, the full name in
  /// quotes after a blank; nothing for the root, which has no name.
  std::string in_quotes() const;

  /// A registered child: exactly one of the two is set.
  struct Child {
    Module* module = nullptr;        // a layer
    Parameter* parameter = nullptr;  // a weight
  };
  /// Its layers and parameters, in the order in which they registered.
  const std::vector<Child>& children() const { return children_; }
  /// The own name under the parent.
  const std::string& name() const { return name_; }
  /// Name of the concrete type, for people.
  std::string type_name() const;

 private:
  friend class Parameter;
  friend class Evaluating;
  friend class detail::Cloning;
  friend struct Parent;
  /// A parameter with its name as seen from the module that was asked.
  struct Cell {
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
  void collect(const std::string& prefix, std::vector<Cell>& cells) const;
  std::vector<Cell> cells() const;
  std::vector<Cell> distinct_cells() const;
  void set_frozen_part(std::string_view part, bool frozen);
  void set_training(bool on);

  Module* parent_ = nullptr;
  std::string name_;
  std::vector<Child> children_;
  bool training_ = true;
  bool is_root_ = false;  // it is in the register of modules without a Parent
  std::ptrdiff_t extent_ =
      0;  // bytes from this to the end of its object, as far as its registered members tell
};

template <std::derived_from<Module> Owner>
Parent::Parent(Owner& parent_in, std::string name_in)
    : module(&Module::with_extent(parent_in)), name(std::move(name_in)) {}

/// A weight: a leaf tensor that is a member of a module. It has no values until the model is initialised or
/// loaded.
///     Parameter weight{*this, "weight", {out, in}, xavier};
/// Use it wherever a Tensor goes; keep a handle as `Tensor w = layer.weight;`.
class Parameter : public Tensor {
 public:
  /// No parameter: an empty handle, for a part that a layer was made without.
  Parameter() = default;
  template <std::derived_from<Module> Owner>
  Parameter(Owner& owner, std::string name, const Dims& shape, Initialiser initialiser)
      : Parameter(&Module::with_extent(owner), std::move(name), shape, std::move(initialiser)) {}
  /// Only clone() may copy: anywhere else this throws.
  Parameter(const Parameter& other);
  Parameter& operator=(const Parameter&) = delete;
  ~Parameter();

  /// From now on this is the same leaf as `other`, of the same shape: one set of values, one gradient, listed
  /// once, under the other's name.
  void tie(const Parameter& other);

  /// The own name under the module that holds it. (The leaf's name(), from Tensor, is the full one.)
  const std::string& own_name() const { return name_; }

 private:
  friend class Module;
  Parameter(Module* owner, std::string name, const Dims& shape, Initialiser initialiser);
  std::string path() const;
  /// False for a parameter that was tied to another.
  bool names_its_leaf() const { return path() == Tensor::name(); }
  void initialise(std::uint64_t seed, DType dtype) const;

  Module* owner_ = nullptr;
  std::string name_;
  Initialiser initialiser_ = zeros;
};

/// Modules of one type under the names 0, 1, …; their addresses stay.
///     List<Block> blocks{{*this, "blocks"}, 4, width};   // four Blocks, each from (Parent, width)
template <class M>
class List : public Module {
 public:
  explicit List(Parent parent) : Module(std::move(parent)) {}
  template <class... Args>
  List(Parent parent, Size count, const Args&... args) : Module(std::move(parent)) {
    for (Size i = 0; i < count; ++i) add(args...);
  }

  /// One more, made from (Parent, args…).
  template <class... Args>
  M& add(Args&&... args) {
    return modules_.emplace_back(Parent{*this, std::to_string(modules_.size())}, std::forward<Args>(args)...);
  }
  Size size() const { return static_cast<Size>(modules_.size()); }
  M& operator[](Size i) { return modules_.at(static_cast<std::size_t>(i)); }
  const M& operator[](Size i) const { return modules_.at(static_cast<std::size_t>(i)); }
  auto begin() { return modules_.begin(); }
  auto end() { return modules_.end(); }
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }

 private:
  std::deque<M> modules_;  // a deque never moves what it holds
};

namespace detail {

/// While one lives, the copy constructors of Module and Parameter work on this thread, and find here what the
/// copied parts became.
class Cloning {
 public:
  explicit Cloning(std::optional<DType> dtype);
  ~Cloning();
  Cloning(const Cloning&) = delete;
  Cloning& operator=(const Cloning&) = delete;

  /// Throws, naming `what`, when no clone is being made.
  static Cloning& active(const char* what, const std::string& name);
  [[noreturn]] static void refuse_type(const Module& model);

  /// Puts the parts of the clone in the original's order: members are copied in the order in which they are
  /// declared, and constructors may register them in another.
  void order(const Module& model, Module& copy) const;

  std::optional<DType> dtype;
  std::map<const Module*, Module*> modules;
  std::map<const Parameter*, Parameter*> parameters;
  std::map<const TensorImpl*, Tensor> leaves;
};

}  // namespace detail

/// A second model of the same type with the same values, in another type if asked: for gradient checks in
/// f64, or to keep an average. What was tied stays tied, what was frozen stays frozen; gradients are not
/// copied. Plain members of a module are copied too, so a module that keeps a pointer or a reference to
/// another part of the model cannot be cloned safely. Parts and parameters stand in the original's order.
template <class M>
std::unique_ptr<M> clone(const M& model, std::optional<DType> dtype = {}) {
  if (typeid(model) != typeid(M)) detail::Cloning::refuse_type(model);
  detail::Cloning cloning(dtype);
  auto copy = std::make_unique<M>(model);
  cloning.order(model, *copy);
  return copy;
}

/// Puts a model into eval mode and, when it goes, each of its modules back into the mode that it had.
class Evaluating {
 public:
  explicit Evaluating(Module& model);
  ~Evaluating();
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;

 private:
  Module& model_;
  std::map<const Module*, bool> before_;  // training?
};

/// A table of modules with their parameters, shapes, number of weights and memory.
std::string summary(const Module& model);

}  // namespace tapestry
