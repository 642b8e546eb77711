// Symbol, the number type that runs a score's lambda on whole tensors, op by op. It is the reference for the
// same lambda on SIMD lanes and on dual numbers.
//
// The lambda only builds an expression graph; evaluate() runs it. A value is live unless it belongs to a masked pair
// or to a branch that select() does not take. Operands that are not live become 1 before an op whose derivative
// could be infinite or NaN there. Otherwise, derivatives of any order could contain 0 · ∞ = NaN.
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

/// A number in a formula, for all pairs at once; an expression of tensors and plain numbers.
class Symbol {
 public:
  /// A plain number, which takes the dtype of the other operand.
  template <class Number>
  requires std::is_arithmetic_v<Number> Symbol(Number value)
      : Symbol(number_of(static_cast<double>(value))) {}
  /// Makes a tensor an input of a formula.
  static Symbol from(const Tensor& tensor);

  /// Computes the formula on the tape. `live` broadcasts to the result (undefined: true everywhere). Where it is
  /// false, the result is unspecified, and adds nothing to the inputs' gradients if its own gradient is 0.
  Tensor evaluate(const Mask& live) const;
  /// Computes the formula off the tape, valid everywhere.
  Tensor value() const;
  /// Returns true if the formula contains plain numbers only.
  bool is_number() const;

  /// Elementwise a + b, a - b, a * b, a / b and -a; shapes broadcast.
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

  /// a += b, a -= b, a *= b and a /= b assign the result to a.
  Symbol& operator+=(const Symbol& other) { return *this = *this + other; }
  Symbol& operator-=(const Symbol& other) { return *this = *this - other; }
  Symbol& operator*=(const Symbol& other) { return *this = *this * other; }
  Symbol& operator/=(const Symbol& other) { return *this = *this / other; }

  /// a < b, a > b, a <= b, a >= b, a == b and a != b compare values and return a mask; no gradient.
  /// If either is NaN, all are false except !=, as on lanes.
  friend Mask operator<(const Symbol& a, const Symbol& b);
  friend Mask operator>(const Symbol& a, const Symbol& b) { return b < a; }
  friend Mask operator<=(const Symbol& a, const Symbol& b);
  friend Mask operator>=(const Symbol& a, const Symbol& b) { return b <= a; }
  friend Mask operator==(const Symbol& a, const Symbol& b);
  friend Mask operator!=(const Symbol& a, const Symbol& b) { return !(a == b); }

  /// Returns `yes` where the condition is true, `no` elsewhere. The other branch gets no gradient and may be NaN.
  friend Symbol select(const Mask& condition, const Symbol& yes, const Symbol& no);
  friend Symbol select(bool condition, const Symbol& yes, const Symbol& no) { return condition ? yes : no; }
  /// Elementwise min, max, abs, exp, log, sqrt, tanh, sigmoid, relu, softplus, silu, sin, cos, floor, fmod and pow,
  /// as in core/ops, with the same derivatives at ties. a % b is fmod(a, b).
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
  friend Symbol relu(const Symbol& a) {
    return one(a, [](const Tensor& x) { return relu(x); });
  }
  friend Symbol softplus(const Symbol& a) {
    return one(a, [](const Tensor& x) { return softplus(x); });
  }
  friend Symbol silu(const Symbol& a) {
    return one(a, [](const Tensor& x) { return silu(x); });
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

  /// Returns table[index…]; the indices broadcast against each other. `scores` is the shape (B, H, Tq, Tk) and `pairs`
  /// the mask (undefined: all pairs). At an unmasked pair, an index that is out of range or not an integer throws.
  static Symbol read(const Tensor& table, const std::vector<Symbol>& index, const Dims& scores,
                     const Mask& pairs);

 private:
  using Function1 = std::function<Tensor(const Tensor&)>;
  using Function2 = std::function<Tensor(const Tensor&, const Tensor&)>;
  using Function = std::function<Tensor(const Tensor& source, const std::vector<Tensor>& operands)>;
  /// Operands that become 1 where they are not live. none: no operand. each: every operand in its own shape, which
  /// suffices if finite operands give finite results and derivatives. jointly: all, in the shape of the result.
  enum class Guard { none, each, jointly };
  struct Node {
    std::uint64_t number = 0;  ///< in order of creation, so operands have lower numbers
    Tensor source = {};        ///< the input tensor or the table to read; otherwise undefined
    std::vector<Symbol> operands;
    Function make;
    Guard guard = Guard::none;
    Mask condition = {};  ///< condition of select(); otherwise undefined
    bool plain = false;   ///< contains plain numbers only
    mutable Tensor off_tape = {};
  };

  explicit Symbol(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static Symbol number_of(double value);
  static Symbol made_of(std::vector<Symbol> operands, Guard guard, Function make, Mask condition = {},
                        Tensor source = {});
  static Symbol one(const Symbol& a, Function1 f);
  static Symbol both(const Symbol& a, const Symbol& b, Guard guard, Function2 f);
  /// Returns all nodes of the expression graph, operands first.
  std::vector<const Node*> nodes() const;
  static std::vector<Tensor> operands_of(const Node& node, const std::function<Tensor(const Node&)>& value);

  std::shared_ptr<const Node> node_;
};

}  // namespace tapestry
