// The checks of lesson 07: seven tests without training. Each is designed to catch one of the seven broken attentions
// in patients.hpp.
//
// All but the target check use random f64 q, k and v: three sequences of length 6 with 6, 4 and 0 valid positions, and
// two heads. (One of them, weights_sum_to_one(), sets v to 1.) Each check takes milliseconds.
#include "lessons/07_masks/checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "lessons/07_masks/clinic.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "nn/attention/attention.hpp"

namespace tapestry::lesson07 {
namespace {

using kit::farthest, kit::largest;
using AttendQkv = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>;

/// Returns the output and the gradients of q, k and v, for one random cotangent.
std::vector<Tensor> output_and_gradients(const AttendQkv& f, const std::vector<Tensor>& qkv,
                                         std::uint64_t seed) {
  const std::vector<Tensor> leaves = {variable(qkv[0]), variable(qkv[1]), variable(qkv[2])};
  Tape tape;
  const Tensor y = f(leaves[0], leaves[1], leaves[2]);
  std::vector<Tensor> all =
      tape.gradients(y, random_normal(y.shape(), seed + 9, y.dtype()), leaves, {.zero_if_unused = true});
  all.insert(all.begin(), y.detach());
  return all;
}

double percent_nan(const Tensor& x) {
  const std::vector<double> all = x.to_vector();
  const auto nan = std::count_if(all.begin(), all.end(), [](double value) { return std::isnan(value); });
  return 100 * static_cast<double>(nan) / static_cast<double>(all.size());
}

Tensor nan_where_masked(const Tensor& x, const Mask& kept) {
  return where(kept, x, scalar(std::numeric_limits<double>::quiet_NaN(), x.dtype()));
}

struct Sample {
  explicit Sample(std::uint64_t seed) {
    for (std::uint64_t i = 0; i < 3; ++i) qkv.push_back(random_normal({3, 6, 8}, seed + 20 + i, DType::f64));
  }
  /// Returns a function that computes p's attention and applies `taken` to the output.
  AttendQkv part(const Patient& p, const std::function<Tensor(const Tensor&)>& taken) const {
    return [&p, taken, valid = valid](const Tensor& q, const Tensor& k, const Tensor& v) {
      return taken(p.attend(q, k, v, valid));
    };
  }
  AttendQkv whole(const Patient& p) const {
    return part(p, [](const Tensor& y) { return y; });
  }

  Mask valid = Mask::from(3, 6, [](Size b, Size j) { return j >= (b == 0 ? 0 : b == 1 ? 2 : 6); });
  Mask places = valid.unsqueeze(-1);  // (3, 6, 1)
  std::vector<Tensor> qkv;
};

/// If all values are 1, every weighted average is 1.
bool weights_sum_to_one(const Patient& p, std::uint64_t seed) {
  const Sample s(seed);
  const Tensor y = p.attend(s.qkv[0], s.qkv[1], ones({3, 6, 8}, DType::f64), s.valid);
  return largest(where(s.places, y - 1, scalar(0, y.dtype()))) < 1e-12;
}

/// The output at position i has a gradient of exactly 0 for the keys and values after i.
bool is_causal(const Patient& p, std::uint64_t seed) {
  const Sample s(seed);
  for (Size i = 0; i + 1 < 6; ++i) {
    const auto at_i = [i](const Tensor& y) { return slice(y, 1, i, i + 1); };
    const std::vector<Tensor> there = output_and_gradients(s.part(p, at_i), s.qkv, seed);
    if (largest(slice(there[2], 1, i + 1, 6)) != 0 || largest(slice(there[3], 1, i + 1, 6)) != 0)
      return false;
  }
  return true;
}

/// NaN in the padding changes neither the output nor the gradients.
bool ignores_padding(const Patient& p, std::uint64_t seed) {
  const Sample s(seed);
  std::vector<Tensor> with_nan;
  for (const Tensor& x : s.qkv) with_nan.push_back(nan_where_masked(x, s.places));
  return farthest(output_and_gradients(s.whole(p), s.qkv, seed),
                  output_and_gradients(s.whole(p), with_nan, seed)) == 0;
}

/// The output for the string without pairs is exactly 0, and so are its gradients.
bool empty_row_gives_zero(const Patient& p, std::uint64_t seed) {
  const Sample s(seed);
  const auto third = [](const Tensor& y) { return select(y, 0, 2); };
  const std::vector<Tensor> all = output_and_gradients(s.part(p, third), s.qkv, seed);
  return std::all_of(all.begin(), all.end(), [](const Tensor& x) { return largest(x) == 0; });
}

/// A string gets the same result alone and in a batch.
bool alone_as_in_batch(const Patient& p, std::uint64_t seed) {
  const Sample s(seed);
  const Tensor together = p.attend(s.qkv[0], s.qkv[1], s.qkv[2], s.valid);
  const std::vector<bool> all = s.valid.to_vector();
  for (Size b = 0; b < 3; ++b) {
    const auto row = [&](const Tensor& x) { return slice(x, 0, b, b + 1); };
    const Mask valid =
        Mask::from(1, 6, [&](Size, Size j) { return all[static_cast<std::size_t>(b * 6 + j)]; });
    const Tensor alone = p.attend(row(s.qkv[0]), row(s.qkv[1]), row(s.qkv[2]), valid);
    if (largest(alone - row(together)) > 1e-12) return false;
  }
  return true;
}

/// Calling the reference on each head's columns and concatenating gives p's output.
bool head_by_head(const Patient& p, const Reference& reference, std::uint64_t seed) {
  const Sample s(seed);
  const Mask mask = s.valid.unsqueeze(1) & Mask::causal(6, 6);
  std::vector<Tensor> outputs;
  for (Size h = 0; h < kHeads; ++h) {
    const auto own = [&](const Tensor& x) { return slice(x, 2, h * 4, (h + 1) * 4); };
    outputs.push_back(reference(own(s.qkv[0]), own(s.qkv[1]), own(s.qkv[2]), mask));
  }
  return largest(concat(outputs, -1) - p.attend(s.qkv[0], s.qkv[1], s.qkv[2], s.valid)) < 1e-12;
}

/// The target of a position is the value of the next pair.
bool target_is_ahead(const Patient& p, std::uint64_t seed) {
  const kit::PairStrings s = draw_strings(seed, 4'000'000, 20);
  const std::vector<std::int64_t> expected = targets(s, p.ahead);
  for (std::size_t place = 0; place < expected.size(); ++place)
    if (expected[place] < kNothing && expected[place] != kIgnored && expected[place] != s.values[place + 1])
      return false;
  return true;
}

}  // namespace

std::vector<Size> count_positive(const Tensor& rows) {
  const std::vector<double> all = rows.to_vector();
  std::vector<Size> counts;
  for (auto row = all.begin(); row != all.end(); row += rows.size(1))
    counts.push_back(std::count_if(row, row + rows.size(1), [](double x) { return x > 0; }));
  return counts;
}

void compare_with_nn(const std::string& name, const Reference& by_hand, std::uint64_t seed,
                     kit::Report& report) {
  const auto some = [&](Size t, Size d, std::uint64_t i) {
    return variable(random_normal({2, t, d}, seed + i, DType::f64));
  };
  const Tensor q = some(3, 4, 0), k = some(5, 4, 1), v = some(5, 3, 2);
  const Mask mask =
      ValidLengths{{5, 2, 0}, {3, 1, 4}}.mask(5);  // the third query of the first sequence has no keys
  const Attention library{scaled_dot()};
  kit::check_by_hand(
      report, name, [&] { return by_hand(q, k, v, mask); }, [&] { return library(q, k, v, mask).context; },
      {q, k, v}, seed);
}

FailedChecks check_all(const std::vector<Patient>& patients, const Reference& reference, std::uint64_t seed) {
  FailedChecks failed{{"alone", "no future", "padding", "empty row", "by head", "averages", "target"}, {}};
  for (const Patient& p : patients)
    failed.table.push_back({!alone_as_in_batch(p, seed), !is_causal(p, seed), !ignores_padding(p, seed),
                            !empty_row_gives_zero(p, seed), !head_by_head(p, reference, seed),
                            !weights_sum_to_one(p, seed), !target_is_ahead(p, seed)});
  return failed;
}

bool FailedChecks::each_fails_its_check() const {
  for (std::size_t i = 0; i < checks.size(); ++i)
    if (table[0][i] || !table[i + 1][i]) return false;
  return true;
}

NanEffect effect_of_nan(const Reference& attention, std::uint64_t seed) {
  const auto some = [&](Size t, std::uint64_t i) { return random_normal({t, 4}, seed + i, DType::f64); };
  const Tensor q = variable(some(3, 0)), k = some(5, 1), v = some(5, 2);
  const Mask three = Mask::from(3, 5, [](Size, Size j) { return j < 3; });
  const Mask kept = Mask::from(5, 1, [](Size j, Size) { return j < 3; });
  const auto context = [&] {
    return attention(q, nan_where_masked(k, kept), nan_where_masked(v, kept), three);
  };
  return {percent_nan(context()), percent_nan(kit::gradients(context, {q}, seed)[0]),
          largest(context() - attention(q, k, v, three))};
}

void draw(const std::vector<Patient>& patients, const FailedChecks& failed, const kit::Options& options) {
  kit::Heatmap picture{"Checks failed by each attention (filled = failed)", failed.checks};
  picture.column_axis = "checks", picture.row_axis = "attentions";
  for (std::size_t i = 0; i < patients.size(); ++i) {
    picture.rows.push_back(patients[i].name);
    for (const bool one : failed.table[i]) picture.values.push_back(one);
  }
  kit::show(picture, options.out / "checks.svg");
}

}  // namespace tapestry::lesson07
