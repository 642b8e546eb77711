#include "lessons/grader/judge/judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/index.hpp"
#include "lessons/grader/answer.hpp"
#include "lessons/grader/judge/elsewhere.hpp"

namespace tapestry::grader {

namespace {

constexpr Size kMostShown = 12;  // numbers shown of a row

struct Broken {
  Fault fault;
};

/// Guard that sets a variable and restores its old value.
template <class T>
class Scoped {
 public:
  Scoped(T& variable, T value) : variable_(variable), before_(std::exchange(variable, value)) {}
  ~Scoped() { variable_ = before_; }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& variable_;
  T before_;
};

std::string text(double x, int digits = 6) {
  if (x == 0) return "0";           // not -0
  if (std::isnan(x)) return "NaN";  // not -nan
  if (x == std::round(x) && std::abs(x) < 1e15) return fmt::format("{:.0f}", x);
  return fmt::format("{:.{}g}", x, digits);
}

/// Returns the number of digits that tells two different numbers apart, at least 6.
int digits_for(double a, double b) {
  int digits = 6;
  while (digits < 17 && a != b && text(a, digits) == text(b, digits)) ++digits;
  return digits;
}

/// Returns two rows as text with aligned columns: `count` numbers from index `first`. Of a long row, shows the part
/// around the column `marked`.
std::array<std::string, 2> rows_text(const std::vector<double>& a, const std::vector<double>& b, Size first,
                                     Size count, Size marked) {
  const Size begin =
      count <= kMostShown ? 0 : std::clamp(marked - kMostShown / 2, Size{0}, count - kMostShown);
  const Size end = std::min(count, begin + kMostShown);
  std::array<std::string, 2> rows;
  const auto at = static_cast<std::size_t>(first + marked);
  const int digits = digits_for(a[at], b[at]);
  if (begin > 0) rows.fill("… ");
  for (Size i = begin; i < end; ++i) {
    const int shown = i == marked ? digits : 6;
    const std::string x = text(a[static_cast<std::size_t>(first + i)], shown),
                      y = text(b[static_cast<std::size_t>(first + i)], shown);
    const std::size_t wide = i + 1 == end ? 0 : std::max(x.size(), y.size()) + 2;
    rows[0] += fmt::format("{:<{}}", x, wide);
    rows[1] += fmt::format("{:<{}}", y, wide);
  }
  if (end < count)
    for (std::string& row : rows) row += " …";
  return rows;
}

bool near(double got, double expected, double scale, double tolerance) {
  if (got == expected) return true;
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected)) return false;
  return std::abs(got - expected) <= tolerance * std::max(1.0, scale);
}

/// Returns the largest finite magnitude of the values [first, first + count).
double scale_of(const std::vector<double>& values, Size first, Size count) {
  double scale = 0;
  for (Size i = first; i < first + count; ++i) {
    const double x = std::abs(values[static_cast<std::size_t>(i)]);
    if (std::isfinite(x)) scale = std::max(scale, x);
  }
  return scale;
}

std::vector<double> sizes_of(const Dims& shape) { return {shape.begin(), shape.end()}; }

/// Adapts gradcheck's words to answers: it counts arguments from 0 and names a backward rule; an answer has inputs
/// from 1 and often no rule.
std::string input_name(std::string words) {
  if (const std::size_t at = words.find("the rule gives"); at != std::string::npos)
    words.replace(at, std::strlen("the rule gives"), "it is");
  const std::string argument = "argument ";
  if (const std::size_t at = words.find(argument);
      at != std::string::npos && std::isdigit(words[at + 9]) != 0)
    words.replace(at, 10, fmt::format("input {}", words[at + 9] - '0' + 1));
  return words;
}

/// Returns the analytic gradients of a gradcheck report, which tell mistakes apart.
std::vector<double> numbers_of(const GradcheckResult& result) {
  std::vector<double> numbers;
  for (const GradcheckEntry& entry : result.failures) numbers.push_back(entry.analytic);
  return numbers;
}

}  // namespace

void Judge::claim(const std::string& sentence, const std::function<void()>& body) {
  if (finding_.fault) return;
  title_ = sentence;
  example_.clear();
  try {
    body();
    finding_.right.push_back(sentence);
  } catch (const Broken& broken) {
    finding_.fault = broken.fault;
  } catch (const NotWritten&) {
    finding_.fault = Fault{Fault::Kind::not_written, claims_, sentence, example_, {}, {}, {}, {}};
  } catch (const std::bad_function_call&) {
    finding_.fault = Fault{
        Fault::Kind::exception, claims_, sentence, example_, "an empty std::function was called", {}, {}, {}};
  } catch (const std::exception& error) {
    finding_.fault = Fault{Fault::Kind::exception, claims_, sentence, example_, error.what(), {}, {}, {}};
  }
  ++claims_;
}

void Judge::wrong(Fault fault) {
  fault.claim = claims_;
  fault.title = title_;
  fault.example = example_;
  throw Broken{std::move(fault)};
}

void Judge::each_size(const std::vector<Range>& ranges, const std::function<void(const Sizes&)>& body,
                      const Beyond& beyond) {
  std::set<Sizes> all;
  Sizes least, most;
  for (const Range& range : ranges) least.push_back(range.least), most.push_back(range.most);
  all.insert(least);
  all.insert(most);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    Sizes one = least;
    one[i] = most[i];
    all.insert(one);
  }
  for (int tries = 0; tries < 8; ++tries) {
    Sizes some;
    for (const Range& range : ranges) some.push_back(random_.between(range.least, range.most));
    all.insert(some);
  }
  std::vector<Sizes> ordered(all.begin(), all.end());
  const auto elements = [](const Sizes& sizes) {
    Size product = 1;
    for (const Size size : sizes) product *= size + 1;
    return product;
  };
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const Sizes& a, const Sizes& b) { return elements(a) < elements(b); });
  const auto run = [&](const Sizes& sizes, const char* more) {
    example_.clear();
    for (std::size_t i = 0; i < sizes.size(); ++i)
      example_ += fmt::format("{}{} {}", i == 0 ? "" : ", ", ranges[i].name, sizes[i]);
    example_ += more;
    body(sizes);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (ranges[i].kind == Range::size)
        finding_.tried.insert(sizes[i] == 0 ? "empty" : sizes[i] == 1 ? "single" : "several");
  };
  for (const Sizes& sizes : ordered) run(sizes, "");
  if (beyond.larger) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (ranges[i].kind == Range::choice) continue;
      Sizes one = ordered[ordered.size() / 2];
      one[i] = 3 * most[i] + 1;
      run(one, "");
    }
    finding_.tried.insert("larger");
  }
  if (beyond.f32) {
    const Scoped f32(type_, DType::f32);
    const Scoped quick(differences_, false);
    run(most, ", in f32");
    finding_.tried.insert("f32");
  }
  if (beyond.often) {
    const Scoped quick(differences_, false);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 200 && std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(200); ++i)
      run(ordered.front(), ", called many times");
    finding_.tried.insert("often");
  }
  example_.clear();
}

Tensor Judge::elsewhere(const std::function<Tensor()>& f) {
  const std::optional<Tensor> made = call_in_copy(f);
  that(made.has_value(), "the answer ends early when another process calls it");
  return *made;
}

Tensor Judge::normal(const Dims& shape) {
  const bool otherwise = ++tensors_ % 3 == 0 && shape.rank() >= 2;
  Dims made = shape;
  if (otherwise) std::swap(made[0], made[made.rank() - 1]);
  std::vector<double> values(static_cast<std::size_t>(shape.count()));
  for (double& x : values) x = std::round(100 * random_.normal()) / 100;
  const Tensor dense = tensor(values, made, type_);
  return otherwise ? transpose(dense, 0, -1) : dense;
}

Tensor Judge::uniform(const Dims& shape, double low, double high) {
  std::vector<double> values(static_cast<std::size_t>(shape.count()));
  for (double& x : values) x = std::floor(100 * random_.uniform(low, high)) / 100;
  return tensor(values, shape, type_);
}

Mask Judge::chances(const Dims& shape, double probability) {
  return Mask::from(1, shape.count(), [&](Size, Size) { return random_.chance(probability); }).reshape(shape);
}

void Judge::same(const Dims& got, const Dims& expected, const std::string& name) {
  if (got == expected) return;
  wrong({Fault::Kind::shape, 0, {}, {}, name, to_string(expected), to_string(got), sizes_of(got)});
}

void Judge::same(const Tensor& got, const Tensor& expected, const std::string& name, double tolerance) {
  that(got.defined(), fmt::format("{}: this Tensor is undefined; assign a value to it", name));
  same(got.shape(), expected.shape(), name);
  // Where each_size() tries f32, the reference may still work in f64.
  that(
      got.dtype() == expected.dtype() || type_ == DType::f32,
      fmt::format(
          "{0}: these must be f{2} like the inputs, got f{1}; make constants with the type of their inputs, such "
          "as scalar(2, x.dtype())",
          name, got.dtype() == DType::f32 ? 32 : 64, expected.dtype() == DType::f32 ? 32 : 64));
  tolerance = accuracy(tolerance);
  const std::vector<double> a = got.to_vector(), b = expected.to_vector();
  const Size columns = expected.rank() == 0 ? 1 : expected.size(-1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto place = static_cast<Size>(i);
    const Size row = place / columns * columns;
    if (near(a[i], b[i], scale_of(b, row, columns), tolerance)) continue;
    std::string where = name;
    if (expected.rank() > 0) where += fmt::format(" at {}", to_string(index_of(place, expected.shape())));
    const auto [wanted, was] = rows_text(b, a, row, columns, place - row);
    wrong({Fault::Kind::value, 0, {}, {}, where, wanted, was, a});
  }
}

void Judge::same(const std::vector<double>& got, const std::vector<double>& expected, const std::string& name,
                 double tolerance) {
  same(Dims{static_cast<Size>(got.size())}, Dims{static_cast<Size>(expected.size())}, name);
  if (got.empty()) return;
  same(tensor(got, {static_cast<Size>(got.size())}, DType::f64),
       tensor(expected, {static_cast<Size>(expected.size())}, DType::f64), name, tolerance);
}

void Judge::same(const Mask& got, const Mask& expected, const std::string& name) {
  same(got.shape(), expected.shape(), name);
  const std::vector<bool> a = got.to_vector(), b = expected.to_vector();
  const Size columns = expected.rank() == 0 ? 1 : expected.shape().back();
  const auto row_of = [&](const std::vector<bool>& bits, Size row) {
    std::string out;
    for (Size j = 0; j < columns; ++j) out += bits[static_cast<std::size_t>(row + j)] ? "■" : "·";
    return out;
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const auto place = static_cast<Size>(i);
    const Size row = place / columns * columns;
    wrong({Fault::Kind::value,
           0,
           {},
           {},
           fmt::format("{} at {}, which should be {}", name, to_string(index_of(place, expected.shape())),
                       b[i] ? "allowed" : "hidden"),
           row_of(b, row),
           row_of(a, row),
           std::vector<double>(a.begin(), a.end())});
  }
}

void Judge::same(double got, double expected, const std::string& name, double tolerance) {
  if (near(got, expected, std::abs(expected), accuracy(tolerance))) return;
  const int digits = digits_for(got, expected);
  wrong({Fault::Kind::value, 0, {}, {}, name, text(expected, digits), text(got, digits), {got}});
}

void Judge::same(const std::string& got, const std::string& expected, const std::string& name) {
  if (got == expected) return;
  std::vector<double> characters(got.begin(), got.end());
  wrong({Fault::Kind::value, 0, {}, {}, name, '"' + expected + '"', '"' + got + '"', std::move(characters)});
}

void Judge::between(double got, double least, double most, const std::string& name) {
  if (got >= least && got <= most) return;
  const std::string wanted = std::isinf(least)  ? fmt::format("at most {}", text(most))
                             : std::isinf(most) ? fmt::format("at least {}", text(least))
                                                : fmt::format("{} to {}", text(least), text(most));
  wrong({Fault::Kind::value, 0, {}, {}, name, wanted, text(got), {got}});
}

void Judge::predicted(double got, double right, const std::string& name, double tolerance) {
  if (near(got, right, std::abs(right), tolerance)) return;
  wrong({Fault::Kind::sentence, 0, {}, {}, fmt::format("{}: it is not {}", name, text(got)), {}, {}, {got}});
}

void Judge::that(bool right, const std::string& sentence, const std::vector<double>& behaviour) {
  if (!right) wrong({Fault::Kind::sentence, 0, {}, {}, sentence, {}, {}, behaviour});
}

double Judge::accuracy(double tolerance) const {
  return type_ == DType::f32 ? std::max(tolerance, 1e-3) : tolerance;
}

void Judge::judged(const GradcheckResult& result) {
  std::string sentence;
  for (const GradcheckEntry& entry : result.failures)
    sentence += fmt::format(
        "the gradient of {}{} is {}, but finite differences give {} ({})\n", input_name(entry.argument),
        entry.index.empty() ? "" : fmt::format(" at [{}]", fmt::join(entry.index, ", ")),
        text(entry.analytic, digits_for(entry.analytic, entry.numeric)),
        text(entry.numeric, digits_for(entry.analytic, entry.numeric)), input_name(entry.look_at));
  that(result.ok(), sentence, numbers_of(result));
}

void Judge::refuses(const std::function<void()>& call, const std::string& what) {
  try {
    call();
  } catch (const Error&) {
    return;
  }
  wrong({Fault::Kind::sentence, 0, {}, {}, what, {}, {}, {}});
}

void Judge::score(double value, const std::string& unit) {
  finding_.score = value;
  finding_.unit = unit;
}

}  // namespace tapestry::grader
