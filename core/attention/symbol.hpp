// A formula's numbers as whole tensors: the same lambda that runs on SIMD lanes and on duals runs on these,
// op by op, and is then the reference for both.
//
// What the lambda returns is only written down; evaluate() then runs it, told where its value counts. Where
// an operand's value does not count (a hidden pair, a branch that select did not take), it is 1 before it
// enters an op whose derivative could be infinite or NaN there: 0 · ∞ would be NaN, in any order of
// derivative.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/pointwise.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

/// One number of a formula, for all pairs at once: made from tensors and plain numbers, and computed by
/// evaluate().
class Symbol {
 public:
  /// A plain number, which takes the type of what stands beside it.
  template <class Number>
  requires std::is_arithmetic_v<Number> Symbol(Number value)
      : Symbol(number_of(static_cast<double>(value))) {}
  /// A tensor that the formula starts from.
  static Symbol from(const Tensor& tensor);

  /// The formula's value, on the tape. It counts where `live` says so (none: everywhere), which broadcasts to
  /// it; elsewhere it is any number, and has no gradient as long as none comes in.
  Tensor evaluate(const Mask& live) const;
  /// The same off the tape, everywhere.
  Tensor value() const;
  /// Whether it is made of plain numbers alone.
  bool is_number() const;

  /// a + b, a - b, a * b, a / b and -a, element by element; shapes broadcast.
  friend Symbol operator+(const Symbol& a, const Symbol& b) {
    return both(a, b, Guard::none, [](const Tensor& x, const Tensor& y) { return add(x, y); });
  }
  friend Symbol operator-(const Symbol& a, const Symbol& b) {
    return both(a, b, Guard::none, [](const Tensor& x, const Tensor& y) { return sub(x, y); });
  }
  friend Symbol operator*(const Symbol& a, const Symbol& b) {
    return both(a, b, Guard::each, [](const Tensor& x, const Tensor& y) { return mul(x, y); });
  }
  friend Symbol operator/(const Symbol& a, const Symbol& b) {
    return both(a, b, Guard::jointly, [](const Tensor& x, const Tensor& y) { return div(x, y); });
  }
  friend Symbol operator-(const Symbol& a) {
    return one(a, [](const Tensor& x) { return neg(x); });
  }

  /// a += b, a -= b, a *= b and a /= b: a becomes the result.
  Symbol& operator+=(const Symbol& other) { return *this = *this + other; }
  Symbol& operator-=(const Symbol& other) { return *this = *this - other; }
  Symbol& operator*=(const Symbol& other) { return *this = *this * other; }
  Symbol& operator/=(const Symbol& other) { return *this = *this / other; }

  /// a < b, a > b, a <= b, a >= b, a == b and a != b of their values, as masks; no gradient.
  friend Mask operator<(const Symbol& a, const Symbol& b);
  friend Mask operator>(const Symbol& a, const Symbol& b) { return b < a; }
  friend Mask operator<=(const Symbol& a, const Symbol& b) { return !(b < a); }
  friend Mask operator>=(const Symbol& a, const Symbol& b) { return !(a < b); }
  friend Mask operator==(const Symbol& a, const Symbol& b) { return (a <= b) & (b <= a); }
  friend Mask operator!=(const Symbol& a, const Symbol& b) { return !(a == b); }

  /// `yes` where the condition is true, `no` elsewhere. What is not taken has no gradient, and may be NaN.
  friend Symbol select(const Mask& condition, const Symbol& yes, const Symbol& no);
  friend Symbol select(bool condition, const Symbol& yes, const Symbol& no) { return condition ? yes : no; }
  /// min, max, abs, exp, log, sqrt, tanh, sigmoid, sin, cos, floor, fmod (written % too) and pow: those of
  /// core/ops, element by element, with their rules at ties. a % b is fmod(a, b).
  friend Symbol min(const Symbol& a, const Symbol& b) {
    return both(a, b, Guard::jointly, [](const Tensor& x, const Tensor& y) { return minimum(x, y); });
  }
  friend Symbol max(const Symbol& a, const Symbol& b) {
    return both(a, b, Guard::jointly, [](const Tensor& x, const Tensor& y) { return maximum(x, y); });
  }
  friend Symbol abs(const Symbol& a) {
    return one(a, [](const Tensor& x) { return abs(x); });
  }
  friend Symbol exp(const Symbol& a) {
    return one(a, [](const Tensor& x) { return exp(x); });
  }
  friend Symbol log(const Symbol& a) {
    return one(a, [](const Tensor& x) { return log(x); });
  }
  friend Symbol sqrt(const Symbol& a) {
    return one(a, [](const Tensor& x) { return sqrt(x); });
  }
  friend Symbol tanh(const Symbol& a) {
    return one(a, [](const Tensor& x) { return tanh(x); });
  }
  friend Symbol sigmoid(const Symbol& a) {
    return one(a, [](const Tensor& x) { return sigmoid(x); });
  }
  friend Symbol sin(const Symbol& a) {
    return one(a, [](const Tensor& x) { return sin(x); });
  }
  friend Symbol cos(const Symbol& a) {
    return one(a, [](const Tensor& x) { return cos(x); });
  }
  friend Symbol floor(const Symbol& a) {
    return one(a, [](const Tensor& x) { return floor(x); });
  }
  friend Symbol fmod(const Symbol& a, const Symbol& b) {
    return both(a, b, Guard::jointly, [](const Tensor& x, const Tensor& y) { return fmod(x, y); });
  }
  friend Symbol operator%(const Symbol& a, const Symbol& b) { return fmod(a, b); }
  friend Symbol pow(const Symbol& a, const Symbol& b) {
    if (b.is_number()) return one(a, [y = b.value().item()](const Tensor& x) { return pow(x, y); });
    return both(a, b, Guard::jointly, [](const Tensor& x, const Tensor& y) { return pow(x, y); });
  }

  /// table[index…], the indices broadcast against each other. For the `pairs` that count (of a batch, heads,
  /// queries and keys; none: all), of scores of this shape, an index outside or between whole numbers throws.
  static Symbol read(const Tensor& table, const std::vector<Symbol>& index, const Dims& scores,
                     const Mask& pairs);

 private:
  using Function1 = std::function<Tensor(const Tensor&)>;
  using Function2 = std::function<Tensor(const Tensor&, const Tensor&)>;
  using Function = std::function<Tensor(const Tensor& source, const std::vector<Tensor>& operands)>;
  /// Which operands become 1 where they do not count: none, each in its own shape (enough where the result
  /// and the slopes of finite operands are finite), or all in the result's shape.
  enum class Guard { none, each, jointly };
  struct Node {
    std::uint64_t number = 0;  ///< nodes are numbered as they are made, so operands come first
    Tensor source = {};        ///< what it is, or reads from; of others, none
    std::vector<Symbol> operands;
    Function make;
    Guard guard = Guard::none;
    Mask condition = {};  ///< of a choice between two operands
    bool plain = false;   ///< made of plain numbers
    mutable Tensor off_tape = {};
  };

  explicit Symbol(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static Symbol number_of(double value);
  static Symbol made_of(std::vector<Symbol> operands, Guard guard, Function make, Mask condition = {},
                        Tensor source = {});
  static Symbol one(const Symbol& a, Function1 f);
  static Symbol both(const Symbol& a, const Symbol& b, Guard guard, Function2 f);
  /// All that this is made of, and itself, operands first.
  std::vector<const Node*> nodes() const;
  static std::vector<Tensor> operands_of(const Node& node, const std::function<Tensor(const Node&)>& value);

  std::shared_ptr<const Node> node_;
};

}  // namespace tapestry
