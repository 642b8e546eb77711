// The judge of an exercise: it makes claims about the answer and tests each on examples from small to large, with new
// random numbers at every save. The first claim that fails ends the run, so that the learner sees one fault at a time.
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
#include "core/tensor/mask.hpp"
#include "core/tensor/tensor.hpp"
#include "lessons/grader/judge/finding.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::grader {

/// A size that varies between examples: its name, minimum and maximum. A choice is the number of one of several
/// cases, so it is never larger than `most`.
struct Range {
  enum Kind { size, choice };

  std::string name;
  Size least, most;
  Kind kind = size;
};
using Sizes = std::vector<Size>;

/// Additional examples of each_size() outside its ranges. Turn off those that a task does not have.
struct Beyond {
  bool larger = true;  // each size at about three times its maximum
  bool f32 = true;     // normal() and uniform() in f32, and results of that type with its accuracy
  bool often = true;   // the smallest example again and again, 200 times or for a fifth of a second
};

/// Tests the claims of an exercise and records the finding.
class Judge {
 public:
  /// Starts with an empty finding. Equal seeds give equal examples.
  explicit Judge(std::uint64_t seed) : random_(seed) { finding_.seed = seed; }

  /// Tests a claim: `sentence` describes a correct answer ("sums each row"), and the body compares with the functions
  /// below. The claim holds if the body returns. Once a claim has failed, later ones are skipped.
  void claim(const std::string& sentence, const std::function<void()>& body);

  // Examples.

  /// Calls the body with about 12 combinations of sizes, fewest elements first, so that the first failure is the
  /// smallest. They include all minima, each size alone at its maximum, and all maxima. The examples of `beyond`
  /// follow. A verdict names the sizes as its example.
  void each_size(const std::vector<Range>& ranges, const std::function<void(const Sizes&)>& body,
                 const Beyond& beyond = {});
  /// Sets the description of the input that a verdict shows, until the claim ends.
  void example(const std::string& description) { example_ = description; }
  /// Returns normal f64 numbers (f32 where each_size() tries f32), rounded to two decimals so that they print exactly.
  /// Of the tensors made, every third one is a transposed view if it has two axes or more.
  Tensor normal(const Dims& shape);
  /// Returns uniform numbers in [low, high), rounded down to two decimals, of the same type as normal().
  Tensor uniform(const Dims& shape, double low, double high);
  /// Returns a mask in which each element is true with the given probability.
  Mask chances(const Dims& shape, double probability);
  /// Random source for other inputs.
  kit::Random& random() { return random_; }

  // Comparisons of the answer's result with the expected one. `name` names the compared values: "the weights".

  /// Compares shape, type and values. The tolerance is relative to the largest magnitude in the expected row, or to 1
  /// if that is larger.
  void same(const Tensor& got, const Tensor& expected, const std::string& name, double tolerance = 1e-9);
  void same(const std::vector<double>& got, const std::vector<double>& expected, const std::string& name,
            double tolerance = 1e-9);
  void same(const Mask& got, const Mask& expected, const std::string& name);
  void same(const Dims& got, const Dims& expected, const std::string& name);
  void same(double got, double expected, const std::string& name, double tolerance = 1e-9);
  void same(const std::string& got, const std::string& expected, const std::string& name);
  /// Checks least ≤ got ≤ most; a fault shows the bounds.
  void between(double got, double least, double most, const std::string& name);
  /// Checks a prediction; a fault does not show the right value.
  void predicted(double got, double right, const std::string& name, double tolerance = 0.005);
  /// Checks any condition. `sentence` describes the fault, and the numbers tell one mistake from another.
  void that(bool right, const std::string& sentence, const std::vector<double>& behaviour = {});
  /// Checks f's derivatives against central differences, in f64, with a random cotangent.
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
  /// Calls an answer that must not use a tape and returns its result. A tape is already open, so the answer cannot open
  /// one.
  template <class F>
  auto without_tape(F call) {
    const Tape open;
    return call();
  }
  /// Calls f in another process and returns its tensor in f64. Static variables that the answer changes there are
  /// unchanged in this process.
  Tensor elsewhere(const std::function<Tensor()>& f);
  /// Checks that the call throws Error. `what` describes the fault if it does not.
  void refuses(const std::function<void()>& call, const std::string& what);

  /// Sets the score, which the grader keeps if it is the best so far; less is better.
  void score(double value, const std::string& unit);

  /// Returns the claims that hold and the first fault.
  const Finding& finding() const { return finding_; }

 private:
  double accuracy(double tolerance) const;
  void judged(const GradcheckResult& result);
  [[noreturn]] void wrong(Fault fault);

  kit::Random random_;
  Finding finding_;
  int claims_ = 0, tensors_ = 0;
  DType type_ = DType::f64;  // of normal() and uniform()
  bool differences_ = true;  // gradients() checks; off in f32 and in repeated calls
  std::string title_, example_;
};

}  // namespace tapestry::grader

using tapestry::grader::Judge;
using tapestry::grader::Range;
using tapestry::grader::Sizes;

/// Judges an answer; each exercise defines this function.
void judge(Judge& judge);
