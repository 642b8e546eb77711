// Implements gradcheck: compares element by element or along random directions, and detects kinks and checks that
// prove nothing.
#include "core/check/gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "core/check/probe.hpp"
#include "core/ops/arithmetic.hpp"
#include "core/ops/reduce.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/index.hpp"
#include "core/tensor/random.hpp"

namespace tapestry::detail {

namespace {

constexpr int kMostKinks = 20;
constexpr const char* kTooManyKinks =
    "the inputs: too many of them sit on kinks, so the check proves nothing; choose others";

class Checker {
 public:
  Checker(const CheckedFunction& f, const GradcheckInputs& inputs, const GradcheckInputs& leaves,
          const GradcheckOptions& options, bool zero_allowed_for_some)
      : probe_(f, inputs, leaves, options),
        options_(options),
        zero_allowed_for_some_(zero_allowed_for_some) {}

  GradcheckResult run() {
    result_.name = options_.name.empty() ? probe_.ops() : options_.name;
    if (!probe_.repeats()) {
      add_failure(
          probe_.targets()[0], -1, 0, 0, 0,
          "f: it must depend on its arguments and random_state() only, but gave two results for one input");
      return result_;
    }
    for (CheckTarget& target : probe_.targets()) check(target);
    reject_zero_gradients();
    for (GradcheckEntry& entry : result_.failures)
      if (entry.look_at.empty()) entry.look_at = what_to_look_at(entry.argument, probe_.targets());
    return result_;
  }

 private:
  double allowed(const Slopes& slopes, double analytic, double floor) const {
    return options_.tolerance * std::max({std::abs(analytic), std::abs(slopes.central), floor}) +
           slopes.noise;
  }
  /// A smaller step has more rounding noise, so it overrules a larger step only if it is four times closer.
  static Slopes with_limited_noise(Slopes slopes, double analytic, const Slopes& first) {
    slopes.noise = std::min(slopes.noise, std::abs(analytic - first.central) / 4);
    return slopes;
  }

  enum class Verdict { agree, differ, kink };

  /// Compares the analytic slope with differences at up to three step sizes. The tolerance is relative to at
  /// least `floor`. Stores the differences at the largest step in `first`.
  Verdict judge(CheckTarget& target, const Line& line, double analytic, double floor, Slopes& first) {
    ++result_.compared;
    first = probe_.measure(target, line, 1);
    Slopes last = first;
    for (double shrink : {1.0, 0.1, 0.01}) {
      if (shrink != 1.0) last = with_limited_noise(probe_.measure(target, line, shrink), analytic, first);
      if (!std::isfinite(analytic) || !std::isfinite(last.central)) return Verdict::differ;
      if (std::abs(analytic - last.central) <= allowed(last, analytic, floor)) return Verdict::agree;
    }
    // With smaller steps, the gap between the one-sided slopes shrinks if f is smooth, and remains at a kink.
    const double gap = std::abs(first.right - first.left), last_gap = std::abs(last.right - last.left);
    const double steep = std::max(std::abs(last.left), std::abs(last.right));
    const double slack = allowed(last, analytic, floor);
    const bool kink = last_gap > 0.2 * gap && last_gap > 1e-4 * steep && last_gap > 10 * slack;
    const bool between = analytic >= std::min(last.left, last.right) - slack &&
                         analytic <= std::max(last.left, last.right) + slack;
    return kink && between ? Verdict::kink : Verdict::differ;
  }

  void check(CheckTarget& target) {
    double largest = 0;
    for (double a : target.analytic) largest = std::max(largest, std::abs(a));
    if (target.value.count() <= options_.elements)
      check_elements(target, largest);
    else
      check_directions(target, largest);
  }

  void check_elements(CheckTarget& target, double largest) {
    double worst = -1;
    Slopes at_worst{};
    Size where = -1, kinks = 0;
    for (Size i = 0; i < target.value.count(); ++i) {
      const double analytic = target.analytic[static_cast<std::size_t>(i)];
      Slopes slopes{};
      const Verdict verdict = judge(target, {i}, analytic, largest / 100, slopes);
      target.numeric.push_back(slopes.central);
      if (verdict == Verdict::kink) {
        add_kink(target, i, analytic, slopes);
        ++kinks;
      }
      if (verdict != Verdict::differ) continue;
      ++target.wrong;
      const double difference = std::abs(analytic - slopes.central);
      if (difference > worst || !std::isfinite(difference)) {
        worst = std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
        at_worst = slopes;
        where = i;
      }
    }
    if (kinks > 0 && kinks == target.value.count())
      add_failure(target, -1, 0, 0, options_.epsilon, kTooManyKinks);
    if (where >= 0)
      add_failure(target, where, target.analytic[static_cast<std::size_t>(where)], at_worst.central,
                  at_worst.step, "");
  }

  void check_directions(CheckTarget& target, double largest) {
    const Stream stream(options_.seed, 0x70726f6a);
    double length = 0;
    for (double a : target.analytic) length += a * a;
    length = std::sqrt(length);
    std::uint64_t draw = 0;
    std::vector<char> skip(target.base.size(), 0);  // 1 for elements at a kink
    for (int trial = 0, kinks = 0; trial < options_.projections && kinks < kMostKinks;) {
      Line line;
      for (std::size_t i = 0; i < target.base.size(); ++i)
        line.direction.push_back(skip[i] ? 0 : stream.normal(draw++));
      Slopes slopes{};
      if (judge(target, line, dot(target, line), length, slopes) == Verdict::agree) {
        target.steepest = std::max(target.steepest, std::abs(slopes.central));
        ++trial;
        continue;
      }
      const Size i = find_wrong(target, line, length);
      const double analytic = target.analytic[static_cast<std::size_t>(i)];
      Slopes at_element{};
      const Verdict verdict = judge(target, {i}, analytic, largest / 100, at_element);
      if (verdict == Verdict::agree) {  // no single element is wrong
        add_failure(target, -1, dot(target, line), slopes.central, slopes.step,
                    "the formula: the slope along a random direction differs, but no element stands out");
        return;
      }
      slopes = at_element;
      if (verdict == Verdict::kink) {
        add_kink(target, i, analytic, slopes);
        skip[static_cast<std::size_t>(i)] = 1;
        if (++kinks == kMostKinks) add_failure(target, -1, 0, 0, slopes.step, kTooManyKinks);
        continue;
      }
      sample_elements(target, i, stream);
      add_failure(target, i, analytic, slopes.central, slopes.step, "");
      return;
    }
  }

  static double dot(const CheckTarget& target, const Line& line) {
    long double sum = 0;
    for (std::size_t i = 0; i < line.direction.size(); ++i)
      if (line.direction[i] != 0) sum += static_cast<long double>(target.analytic[i]) * line.direction[i];
    return static_cast<double>(sum);
  }

  /// Finds an element that explains the disagreement along `line`, by bisection: always takes the worse half.
  Size find_wrong(CheckTarget& target, const Line& line, double length) {
    std::size_t begin = 0, end = line.direction.size();
    while (end - begin > 1) {
      const std::size_t middle = (begin + end) / 2;
      const auto miss = [&](std::size_t from, std::size_t to) {
        Line half{-1, std::vector<double>(line.direction.size(), 0.0)};
        std::copy(line.direction.begin() + static_cast<std::ptrdiff_t>(from),
                  line.direction.begin() + static_cast<std::ptrdiff_t>(to),
                  half.direction.begin() + static_cast<std::ptrdiff_t>(from));
        const double difference = std::abs(dot(target, half) - probe_.measure(target, half, 0.1).central);
        return std::isfinite(difference) ? difference : length * 1e300;
      };
      if (miss(begin, middle) >= miss(middle, end))
        end = middle;
      else
        begin = middle;
    }
    return static_cast<Size>(begin);
  }

  /// Measures a sample of elements of a large target, so that the report can suggest a cause.
  void sample_elements(CheckTarget& target, Size wrong, const Stream& stream) {
    const auto n = static_cast<std::uint64_t>(target.base.size());
    for (std::uint64_t k = 0; k < 48; ++k) {
      const Size i = k == 0 ? wrong : static_cast<Size>(stream.below(n, (std::uint64_t{1} << 40) + k));
      target.sampled.push_back(i);
      target.numeric.push_back(probe_.measure(target, {i}, 1).central);
    }
  }

  void reject_zero_gradients() {
    bool any = false;
    for (const CheckTarget& target : probe_.targets()) any |= !is_zero(target);
    for (const CheckTarget& target : probe_.targets()) {
      if (target.base.empty() || probe_.result_is_empty() || options_.expect_zero || !is_zero(target))
        continue;
      const auto same = [&](const GradcheckEntry& entry) { return entry.argument == target.label; };
      if (std::any_of(result_.failures.begin(), result_.failures.end(), same)) continue;
      if (zero_allowed_for_some_ && any) continue;
      add_failure(
          target, -1, 0, 0, options_.epsilon,
          "the gradient: it is zero everywhere, so the check proves nothing; choose inputs at which f "
          "changes, or set .expect_zero if you expect this");
    }
  }

  /// Returns true if the gradient is negligible compared with the magnitude of f.
  bool is_zero(const CheckTarget& target) const {
    const double limit = 1e-12 * probe_.magnitude();
    double largest = target.steepest > 1e-8 * probe_.magnitude() ? target.steepest : 0.0;
    for (double a : target.analytic) largest = std::max(largest, std::abs(a));
    for (double n : target.numeric)
      largest = std::max(largest, std::abs(n) > 1e-8 * probe_.magnitude() ? std::abs(n) : 0.0);
    return !(largest > limit);
  }

  static GradcheckEntry entry_of(const CheckTarget& target, Size index, double analytic, double numeric,
                                 double epsilon) {
    GradcheckEntry entry{target.label, target.value.shape(), {}, analytic, numeric, epsilon, {}};
    if (index >= 0) {
      const Dims at = index_of(index, target.value.shape());
      entry.index.assign(at.begin(), at.end());
    }
    return entry;
  }
  void add_failure(const CheckTarget& target, Size index, double analytic, double numeric, double epsilon,
                   std::string text) {
    result_.failures.push_back(entry_of(target, index, analytic, numeric, epsilon));
    result_.failures.back().look_at = std::move(text);
  }
  void add_kink(const CheckTarget& target, Size index, double analytic, const Slopes& slopes) {
    result_.kinks.push_back(entry_of(target, index, analytic, slopes.central, slopes.step));
    result_.kinks.back().look_at =
        fmt::format("slope {:.6g} from the left, {:.6g} from the right", slopes.left, slopes.right);
  }

  Probe probe_;
  GradcheckOptions options_;
  bool zero_allowed_for_some_;
  GradcheckResult result_;
};

}  // namespace

GradcheckResult run_gradcheck(const CheckedFunction& f, const GradcheckInputs& inputs,
                              const GradcheckInputs& leaves, const GradcheckOptions& options) {
  return Checker(f, inputs, leaves, options, false).run();
}

GradcheckResult run_gradgradcheck(const CheckedFunction& f, const GradcheckInputs& inputs,
                                  const GradcheckInputs& leaves, const GradcheckOptions& options) {
  // Runs f once for the shape of its result; dy becomes one more argument.
  GradcheckInputs all = inputs;
  const RandomState before = random_state();
  const Tensor y = f(all.list);
  random_state() = before;
  all.list.push_back(random_normal(y.shape(), options.seed + 1, DType::f64));
  const CheckedFunction gradient = [&](std::span<const Tensor> xs_and_dy) {
    // The checker calls this with a tape to differentiate it, and without one to measure differences.
    std::unique_ptr<Tape> own;
    std::vector<Tensor> xs(xs_and_dy.begin(), xs_and_dy.end());
    if (!Tape::active()) {
      own = std::make_unique<Tape>();
      for (Tensor& x : xs) x = variable(x);
    }
    const Tensor dy = xs.back();
    xs.pop_back();
    const Tensor value = f(xs);
    xs.insert(xs.end(), leaves.list.begin(), leaves.list.end());
    const auto gradients =
        Tape::active()->gradients(value, dy, xs, {.create_graph = true, .zero_if_unused = true});
    Tensor sum;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Tensor weight = random_normal(gradients[i].shape(), options.seed + 2 + i, DType::f64);
      const Tensor part = tapestry::sum(gradients[i] * weight);
      sum = sum.defined() ? sum + part : part;
    }
    return own ? sum.detach() : sum;
  };
  // Empty inputs and empty results correctly have a zero gradient.
  GradcheckOptions for_all = options;
  const auto has_elements = [](const Tensor& x) { return x.count() > 0; };
  if (y.count() == 0 || (std::none_of(inputs.list.begin(), inputs.list.end(), has_elements) &&
                         std::none_of(leaves.list.begin(), leaves.list.end(), has_elements)))
    for_all.expect_zero = true;
  return Checker(gradient, all, leaves, for_all, true).run();
}

}  // namespace tapestry::detail
