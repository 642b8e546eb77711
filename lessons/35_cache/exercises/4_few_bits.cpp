// 35.4 few_bits: Keys and values in few bits
// design, 20 minutes, fast
//
// Store keys and values of width 64 in fewer bits. Groups of neighbouring numbers share a scale, which takes 2 bytes.
// A plan says three things:
//
// - `bits`: the number of bits for each number, from 2 to 8;
// - `group`: the number of neighbours that share a scale, a power of 2 from 4 to 64;
// - `along`: where the neighbours are. In a row, they are components of one token. In a channel, they are the same
//   component of successive tokens.
//
// Two channels of the keys have a large mean, as in many language models. The values have no such channel. There are
// two targets:
//
// 1. the results of attention differ from the exact ones by at most 40 % (root mean square, relative);
// 2. a token takes at most 75 bytes, its key and its value together. In f32 these would be 512.
//
// Fewer bytes are better, and your best plan is kept.
#include "lessons/grader/answer.hpp"

enum class Along { row, channel };

struct Plan {
  Size bits;
  Size group;
  Along along;
};

//[ both plans
//: constexpr Plan kKeys{4, 64, Along::row};
//: constexpr Plan kValues{4, 64, Along::row};
constexpr Plan kKeys{4, 64, Along::channel};  // a channel with a large mean gets its own scale
constexpr Plan kValues{4, 64, Along::row};
//]

/// Returns x (T, 64) as it is read from the cache.
Tensor stored(const Tensor& x, const Plan& plan) {
  const Tensor lines = plan.along == Along::row ? x : transpose(x);
  const Tensor groups = reshape(lines, {lines.size(0), lines.size(1) / plan.group, plan.group});
  const double most = static_cast<double>((1 << (plan.bits - 1)) - 1);  // the integers −most … most
  const Tensor scale = max(abs(groups), {2}, Keep::yes) / most;
  const Tensor read = reshape(floor(groups / scale + 0.5) * scale, lines.shape());
  return plan.along == Along::row ? read : transpose(read);
}

// hint: In a row of keys, two components are about twenty times as large as the others. How many of the integers are
//   left for the others?
// hint: Along::channel gives such a component its own scale. Is this necessary for the values, too?
// hint: With the keys along channels and four bits, try fewer bits for the values, with smaller groups.

// start: The scale of a row of keys fits its two large components, and most others are rounded to 0.

// wrong: Eight bits are accurate enough, but then a key and a value take more than 128 bytes. The budget is 75.
// - constexpr Plan kKeys{4, 64, Along::channel};  // a channel with a large mean gets its own scale
// - constexpr Plan kValues{4, 64, Along::row};
// + constexpr Plan kKeys{8, 64, Along::row};
// + constexpr Plan kValues{8, 64, Along::row};
// wrong: Two bits leave the integers −1, 0 and 1. This is too little for the keys, because the softmax increases
//   errors of the scores.
// - constexpr Plan kKeys{4, 64, Along::channel};  // a channel with a large mean gets its own scale
// + constexpr Plan kKeys{2, 64, Along::channel};
// wrong: Groups of four numbers have accurate scales, but each scale takes 2 bytes: as much as the numbers.
// - constexpr Plan kKeys{4, 64, Along::channel};  // a channel with a large mean gets its own scale
// + constexpr Plan kKeys{4, 4, Along::channel};

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

constexpr Size kTokens = 256, kWidth = 64;

double bytes_of_plan(const Plan& plan) {
  return static_cast<double>(kWidth * plan.bits) / 8 +
         2.0 * static_cast<double>(kWidth) / static_cast<double>(plan.group);
}

bool allowed(const Plan& plan) {
  return plan.bits >= 2 && plan.bits <= 8 && plan.group >= 4 && plan.group <= 64 &&
         (plan.group & (plan.group - 1)) == 0;
}

}  // namespace

void judge(Judge& judge) {
  const double bytes = bytes_of_plan(kKeys) + bytes_of_plan(kValues);
  judge.claim("stays within the budget of bytes", [&] {
    judge.that(allowed(kKeys) && allowed(kValues),
               "bits must be 2 to 8, and group a power of 2 from 4 to 64");
    judge.between(bytes, 0, 75, "bytes per token");
  });
  judge.claim("keeps the results of attention", [&] {
    std::vector<double> means(static_cast<std::size_t>(kWidth), 0.0);
    means[5] = 20;
    means[40] = -25;
    const auto draw = [&](Size rows) {
      return random_normal({rows, kWidth}, judge.random().next(), DType::f64);
    };
    const Tensor keys = draw(kTokens) + tensor(means, {kWidth}, DType::f64), values = draw(kTokens),
                 queries = draw(64);
    const auto read = [&](const Tensor& k, const Tensor& v) {
      return matmul(softmax(matmul(queries, transpose(k)) / 8.0, -1), v);
    };
    const Tensor exact = read(keys, values), off = read(stored(keys, kKeys), stored(values, kValues)) - exact;
    const double error = std::sqrt(sum(off * off).item() / sum(exact * exact).item());
    judge.that(
        error <= 0.4,
        fmt::format("{:.1f} bytes per token change the results by {:.0f} %, and at most 40 % are allowed",
                    bytes, 100 * error),
        {error});
    fmt::print("{:.1f} bytes per token change the results by {:.0f} %.\n", bytes, 100 * error);
    judge.score(bytes, "bytes per token");
  });
}
