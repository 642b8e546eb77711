// How an exercise is judged: claims about the answer, each tried on examples from small to large, with other
// numbers at every save. The first that does not hold ends the run, so that one thing is said at a time.
//
//     void judge(Judge& judge) {
//       judge.claim("gives the row sums that loops give", [&] {
//         judge.each_size({{"rows", 1, 3}, {"columns", 1, 5}}, [&](const Sizes& n) {
//           const Tensor x = judge.normal({n[0], n[1]});
//           judge.same(row_sums(x), by_loops(x), "the sums");
//         });
//       });
//     }
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/check/gradcheck.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"
#include "lessons/grader/judge/finding.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::grader {

/// A size that examples vary: its name, the smallest and the largest. A choice is a number of one of several cases:
/// there is none beyond `most`.
struct Range {
  enum Kind { size, choice };

  std::string name;
  Size least, most;
  Kind kind = size;
};
using Sizes = std::vector<Size>;

/// Further examples of each_size(), outside its ranges. An exercise whose task has no such case leaves it out.
struct Beyond {
  bool larger = true;  // each size at about three times its most
  bool f32 = true;     // normal() and uniform() in f32, and results of that type with its accuracy
  bool often = true;   // the smallest example again and again, 200 times or for a fifth of a second
};

class Judge {
 public:
  /// Equal seeds give equal examples.
  explicit Judge(std::uint64_t seed) : random_(seed) { finding_.seed = seed; }

  /// `sentence` says what is right about the answer if the body runs through: "sums each row". The body
  /// compares with the functions below. After a claim that does not hold no other is tried.
  void claim(const std::string& sentence, const std::function<void()>& body);

  // Examples.

  /// Calls the body with some 12 combinations, among them the smallest, each size at its largest alone, and
  /// all at their largest; fewest elements first, so the first that fails is the smallest. Then those of
  /// `beyond`. The sizes are the example that a verdict names.
  void each_size(const std::vector<Range>& ranges, const std::function<void(const Sizes&)>& body,
                 const Beyond& beyond = {});
  /// What a verdict calls the input from now on, until the claim ends.
  void example(const std::string& description) { example_ = description; }
  /// Normal f64 numbers (f32 where each_size() tries those) with two decimals, so that a printed one is the
  /// whole one. Every third tensor of two axes or more has them in another order in memory.
  Tensor normal(const Dims& shape);
  /// Uniform in [low, high), with two decimals, f64.
  Tensor uniform(const Dims& shape, double low, double high);
  /// Each true with a probability.
  Mask chances(const Dims& shape, double probability);
  /// For any other input.
  kit::Random& random() { return random_; }

  // Comparisons, of what the answer gives with what is expected. `name` says what is compared: "the weights".

  /// Shape, type and values; relative to the largest of the expected row, and to 1 at least.
  void same(const Tensor& got, const Tensor& expected, const std::string& name, double tolerance = 1e-9);
  void same(const std::vector<double>& got, const std::vector<double>& expected, const std::string& name,
            double tolerance = 1e-9);
  void same(const Mask& got, const Mask& expected, const std::string& name);
  void same(const Dims& got, const Dims& expected, const std::string& name);
  void same(double got, double expected, const std::string& name, double tolerance = 1e-9);
  void same(const std::string& got, const std::string& expected, const std::string& name);
  /// A figure between two bounds, which are told.
  void between(double got, double least, double most, const std::string& name);
  /// A prediction: the right one is shown with the verdict only after it was given.
  void predicted(double got, double right, const std::string& name, double tolerance = 0.005);
  /// The sentence says what is wrong; the numbers tell one mistake from another.
  void that(bool right, const std::string& sentence, const std::vector<double>& behaviour = {});
  /// f's derivatives against central differences, in f64, with a random cotangent.
  template <class F>
  void gradients(F f, const GradcheckInputs& inputs, GradcheckOptions options = {}) {
    if (!differences_) return;
    options.seed = random_.next();
    judged(gradcheck(std::move(f), inputs, options));
  }
  template <class F>
  void gradients(F f, const GradcheckInputs& inputs, const GradcheckInputs& leaves,
                 GradcheckOptions options = {}) {
    if (!differences_) return;
    options.seed = random_.next();
    judged(gradcheck(std::move(f), inputs, leaves, options));
  }
  /// What the call of an answer returns that is asked for without a tape: one is open already, so that it cannot
  /// open another.
  template <class F>
  auto without_tape(F call) {
    const Tape open;
    return call();
  }
  /// Calls f in another process and returns its tensor. Static variables that the answer changes there stay as
  /// they are here.
  Tensor elsewhere(const std::function<Tensor()>& f);
  /// The answer throws an Error, as it is asked to.
  void refuses(const std::function<void()>& call, const std::string& what);

  /// The figure that is kept if it is the best so far; less is better.
  void score(double value, const std::string& unit);

  const Finding& finding() const { return finding_; }

 private:
  double accuracy(double tolerance) const;
  void judged(const GradcheckResult& result);
  [[noreturn]] void wrong(Fault fault);

  kit::Random random_;
  Finding finding_;
  int claims_ = 0, tensors_ = 0;
  DType type_ = DType::f64;  // of normal() and uniform()
  bool differences_ = true;  // gradients() checks: not in f32, and not for each of many calls
  std::string title_, example_;
};

}  // namespace tapestry::grader

using tapestry::grader::Judge;
using tapestry::grader::Range;
using tapestry::grader::Sizes;

/// Each exercise defines it.
void judge(Judge& judge);
