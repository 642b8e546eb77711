// 1.4 engine_tape: A tape of arrays for your own engine
// implement, 20 minutes, piece tape.hpp
//
// This exercise starts an engine of your own. It grows over fifteen exercises until it trains a small GPT, and each
// exercise compares it with Tapestry. Its values are arrays of doubles. Each line of its tape has an array, the numbers
// of its input lines, and a rule. The rule receives the gradient of the line and returns one gradient for each input.
//
// Write backward(of). It computes `gradient` for every line that `of` depends on. The gradient of `of` itself is an
// array of ones. Each line calls its rule and adds the results to the gradients of its inputs. A leaf has no rule. A
// line that `of` does not depend on must keep an empty gradient, and its rule must not be called.
//
// Then write the rules of x · y and of tanh x, both element by element. add() and relu() show the form of an op.
#include "lessons/grader/answer.hpp"

namespace engine {

/// An array stores its elements row by row: with shape (2, 3), the first three numbers are the first row.
struct Array {
  std::vector<int> shape;
  std::vector<double> data;
};

inline Array filled(const std::vector<int>& shape, double value) {
  int count = 1;
  for (const int size : shape) count *= size;
  return {shape, std::vector<double>(static_cast<std::size_t>(count), value)};
}

/// Returns f of each element.
template <class F>
Array each(const Array& x, F f) {
  Array y = x;
  for (double& number : y.data) number = f(number);
  return y;
}
/// Returns f(a, b) for each pair of elements of two arrays with the same shape.
template <class F>
Array each(const Array& a, const Array& b, F f) {
  Array y = a;
  for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] = f(a.data[i], b.data[i]);
  return y;
}

/// Receives the gradient of a line and returns the gradients of its inputs, in order.
using Rule = std::function<std::vector<Array>(const Array& gradient)>;

struct Tape;

/// Refers to a line of a tape; expressions are built from Values.
struct Value {
  Tape* tape;
  std::size_t line;
  const Array& array() const;
  const Array& gradient() const;  // after backward(); empty if the line has no gradient
};

struct Line {
  Array array;
  std::vector<std::size_t> inputs;
  Rule rule;
  Array gradient;
};

struct Tape {
  std::vector<Line> lines;

  /// Records a line without inputs.
  Value leaf(const Array& array) { return record(array, {}, {}); }
  Value record(const Array& array, const std::vector<Value>& inputs, const Rule& rule) {
    lines.push_back({array, {}, rule, {}});
    for (const Value& input : inputs) lines.back().inputs.push_back(input.line);
    return {this, lines.size() - 1};
  }

  void backward(const Value& of) {
    for (Line& line : lines) line.gradient = {};  // empty
    //[ backward, about eight lines
    //: not_written_yet();
    lines[of.line].gradient = filled(of.array().shape, 1);
    for (std::size_t i = of.line + 1; i-- > 0;) {  // lines after `of` cannot change it
      if (lines[i].gradient.data.empty() || !lines[i].rule) continue;
      const std::vector<Array> parts = lines[i].rule(lines[i].gradient);
      for (std::size_t k = 0; k < parts.size(); ++k) {
        Array& gradient = lines[lines[i].inputs[k]].gradient;
        if (gradient.data.empty()) gradient = filled(parts[k].shape, 0);
        for (std::size_t j = 0; j < gradient.data.size(); ++j)
          gradient.data[j] += parts[k].data[j];  // added: a line may be used many times
      }
    }
    //]
  }
};

inline const Array& Value::array() const { return tape->lines[line].array; }
inline const Array& Value::gradient() const { return tape->lines[line].gradient; }

/// Returns x + y for two values with the same shape.
inline Value add(const Value& x, const Value& y) {
  return x.tape->record(each(x.array(), y.array(), [](double a, double b) { return a + b; }), {x, y},
                        [](const Array& gradient) {
                          return std::vector{gradient, gradient};
                        });
}

/// Returns max(x, 0). The rule keeps a copy of x, because the tape moves its lines in memory when it grows.
inline Value relu(const Value& x) {
  const Array kept = x.array();
  return x.tape->record(
      each(kept, [](double a) { return std::max(a, 0.0); }), {x}, [kept](const Array& gradient) {
        return std::vector{each(gradient, kept, [](double g, double a) { return a > 0 ? g : 0; })};
      });
}

/// Returns x · y, element by element, for two values with the same shape.
inline Value multiply(const Value& x, const Value& y) {
  const Array a = x.array(), b = y.array();
  const auto product = [](double p, double q) { return p * q; };
  const Rule rule = [a, b, product](const Array& gradient) -> std::vector<Array> {
    //[ the rule of x · y
    //: return not_written_yet();
    return {each(gradient, b, product), each(gradient, a, product)};  // each gets the other one
    //]
  };
  return x.tape->record(each(a, b, product), {x, y}, rule);
}

inline Value tanh(const Value& x) {
  const Array y = each(x.array(), [](double a) { return std::tanh(a); });
  const Rule rule = [y](const Array& gradient) -> std::vector<Array> {
    //[ the rule of y = tanh x, in y
    //: return not_written_yet();
    return {each(gradient, y, [](double g, double t) { return g * (1 - t * t); })};  // tanh′ = 1 − tanh²
    //]
  };
  return x.tape->record(y, {x}, rule);
}

}  // namespace engine

// hint: In exercise 1.1 the gradients were numbers, and each input had a local derivative. Which of the two is an array
//   now? What replaces the other?
// hint: Go from line of.line down to line 0. Skip a line without a gradient or without a rule. For every other line,
//   call the rule once and add part k to the gradient of line inputs[k]. What if that gradient is still empty?
// hint: ∂(x·y)/∂x is y. The derivative of tanh is 1 − tanh², and y already is tanh x. each(gradient, y, …) goes through
//   both arrays.
//
// wrong: A line that is used twice keeps only the last part of its gradient, so x · x has half its gradient. How must
//   the parts of all uses be combined?
// - gradient.data[j] += parts[k].data[j];
// + gradient.data[j] = parts[k].data[j];
// wrong: You multiply the gradient of x by x itself. How much does x · y change when x changes a little? Try 2 · 5.
// - return {each(gradient, b, product), each(gradient, a, product)};
// + return {each(gradient, a, product), each(gradient, b, product)};
// wrong: The rule of x · y ignores the gradient that it receives. Each factor's gradient is that gradient times the
//   other factor. The mistake is invisible if the product is the last line, because the gradient is 1 there.
// - return {each(gradient, b, product), each(gradient, a, product)};
// + return {b, a};
// wrong: The rule of tanh ignores the gradient that it receives. The chain rule multiplies the local derivative by it.
//   The mistake is invisible if tanh is the last line, because the gradient is 1 there.
// - return {each(gradient, y, [](double g, double t) { return g * (1 - t * t); })};
// + return {each(gradient, y, [](double, double t) { return 1 - t * t; })};
// wrong: You use 1 − tanh x. The derivative is 1 − tanh² x. The two are equal at x = 0, so try another x.
// - return {each(gradient, y, [](double g, double t) { return g * (1 - t * t); })};
// + return {each(gradient, y, [](double g, double t) { return g * (1 - t); })};
// wrong: You call the rule of a line that `of` does not depend on. Such a line has no gradient to pass on.
// - if (lines[i].gradient.data.empty() || !lines[i].rule) continue;
// + if (!lines[i].rule) continue;
// wrong: A line that `of` does not depend on has a gradient. Either backward() starts at the last line of the tape,
//   although `of` may be an earlier line, or it fills gradients that nothing was added to.
// - lines[of.line].gradient = filled(of.array().shape, 1);
// - for (std::size_t i = of.line + 1; i-- > 0;) {
// + lines.back().gradient = filled(lines.back().array.shape, 1);
// + for (std::size_t i = lines.size(); i-- > 0;) {

//= judge
#include "lessons/grader/judge/engine.hpp"

void judge(Judge& judge) {
  using engine::Tape, engine::Value;
  judge.claim("computes gradients backward from a line in the middle of a tape", [&] {
    Tape tape;
    const Value x = tape.leaf({{2}, {2, 3}}), y = tape.leaf({{2}, {5, 7}});
    const Value both = engine::add(x, y);
    const Value last = engine::relu(both);
    tape.backward(both);
    judge.example("x = (2, 3), y = (5, 7), both = x + y, last = relu(both); backward of both");
    judge.same(x.gradient().data, {1, 1}, "the gradient of x");
    judge.same(y.gradient().data, {1, 1}, "the gradient of y");
    judge.same(last.gradient().data, std::vector<double>{},
               "the gradient of last, on which both does not depend");
  });
  judge.claim("adds up the gradients of several uses", [&] {
    Tape tape;
    const Value x = tape.leaf({{1}, {2}});
    const Value twice = engine::add(x, x);
    const Value thrice = engine::add(twice, x);
    tape.backward(thrice);
    judge.example("x = 2; x + x + x");
    judge.same(x.gradient().data, {3}, "the gradient of x");
    tape.backward(thrice);
    judge.same(x.gradient().data, {3}, "the gradient of x after a second backward");
  });
  judge.claim("skips lines that the result does not depend on", [&] {
    Tape tape;
    int calls = 0;
    const Value x = tape.leaf({{1}, {2}});
    tape.record({{1}, {7}}, {x}, [&calls](const engine::Array&) {
      ++calls;
      return std::vector<engine::Array>{{{1}, {100}}};
    });
    tape.backward(engine::add(x, x));
    judge.example("x = 2, a line that is computed from x and never used, then x + x");
    judge.same(calls, 0, "calls of the unused line's rule");
    judge.same(x.gradient().data, {2}, "the gradient of x");
  });
  judge.claim("has the right rule for a product", [&] {
    Tape tape;
    const Value x = tape.leaf({{2}, {2, 3}}), y = tape.leaf({{2}, {5, 7}});
    tape.backward(engine::multiply(x, y));
    judge.example("x = (2, 3), y = (5, 7); x · y");
    judge.same(x.gradient().data, {5, 7}, "the gradient of x");
    judge.same(y.gradient().data, {2, 3}, "the gradient of y");
    tape.backward(engine::multiply(engine::multiply(x, y), tape.leaf({{2}, {3, 3}})));
    judge.example("x = (2, 3), y = (5, 7); 3 · (x · y)");
    judge.same(x.gradient().data, {15, 21}, "the gradient of x");
    judge.same(y.gradient().data, {6, 9}, "the gradient of y");
  });
  judge.claim("has the right rule for tanh", [&] {
    Tape tape;
    const Value x = tape.leaf({{3}, {0, 0.5, -1}});
    const Value y = engine::tanh(x);
    const Value scaled = engine::multiply(y, tape.leaf({{3}, {3, 3, 3}}));
    tape.backward(scaled);
    judge.example("x = (0, 0.5, −1); 3 · tanh x");
    judge.same(x.gradient().data, {3, 2.3593433, 1.2599230}, "the gradient of x", 1e-6);
  });
  judge.claim("computes the same gradients as Tapestry", [&] {
    judge.each_size({{"rows", 1, 3}, {"columns", 1, 4}}, [&](const Sizes& n) {
      const Tensor a = judge.normal({n[0], n[1]}), b = judge.normal({n[0], n[1]});
      grader::agree<Tape>(
          judge, {a, b},
          [](const std::vector<Value>& in) {
            const Value h = engine::tanh(engine::add(engine::multiply(in[0], in[1]), in[0]));
            return engine::multiply(h, engine::add(h, engine::relu(in[1])));
          },
          [](const std::vector<Tensor>& in) {
            const Tensor h = tapestry::tanh(in[0] * in[1] + in[0]);
            return h * (h + tapestry::relu(in[1]));
          });
    });
  });
}
