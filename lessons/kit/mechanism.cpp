#include "lessons/kit/mechanism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/core.hpp"
#include "lessons/kit/agreement.hpp"
#include "lessons/kit/heatmap_grid.hpp"
#include "lessons/kit/stopwatch.hpp"

namespace tapestry::kit {

namespace {

using Learned = std::vector<Tensor>;

AttendOptions options_of(const Mechanism& mechanism, const Learned& learned, Size queries, Size keys) {
  AttendOptions options;
  if (mechanism.pairs) options.pairs = mechanism.pairs(learned);
  if (mechanism.mask) options.mask = mechanism.mask(queries, keys);
  if (mechanism.score) options.score = mechanism.score(learned, queries, keys);
  options.sink = mechanism.sink;
  return options;
}

/// Attention with another normaliser than softmax.
Tensor normalised(const Mechanism& mechanism, const Tensor& query, const Tensor& key, const Tensor& value,
                  const Learned& learned) {
  const AttendOptions options = options_of(mechanism, learned, query.size(-2), key.size(-2));
  Tensor scores = options.pairs.defined()
                      ? options.pairs.form().by_ops(query, key, options.pairs.learned().data())
                      : matmul(query, transpose(key)) / std::sqrt(static_cast<double>(query.size(-1)));
  if (options.score.defined()) scores = options.score.by_ops(scores);
  return matmul(mechanism.normalise(scores, options.mask.mask()), value);
}

/// Query, key, value and what is learned, in this order.
Learned draw(const Mechanism& mechanism, Size words, std::uint64_t seed, DType dtype) {
  Learned all;
  const Dims shape{1, mechanism.heads, words, mechanism.width};
  for (const char* name : {"query", "key", "value"})
    all.push_back(variable(random_normal(shape, seed + all.size(), dtype), name));
  Learned values = first_values(mechanism, seed, dtype);
  for (Tensor& one : values) {
    // So that no table is all zeros or all alike.
    assign(one, one + 0.05 * (1 + abs(one)) * random_normal(one.shape(), seed + all.size(), dtype));
    all.push_back(one);
  }
  return all;
}

template <class Run>
Tensor run_on(const Learned& all, const Run& run) {
  return run(all[0], all[1], all[2], Learned(all.begin() + 3, all.end()));
}

}  // namespace

Learned first_values(const Mechanism& mechanism, std::uint64_t seed, DType dtype) {
  ProgrammedPositions holder({}, mechanism.learned, [](const Learned&, Size, Size) { return ScoreMod(); });
  holder.initialise(seed, dtype);
  return holder.parameters();
}

Tensor run(const Mechanism& mechanism, const Tensor& query, const Tensor& key, const Tensor& value,
           const Learned& learned) {
  if (mechanism.ops) return mechanism.ops(query, key, value, learned);
  if (mechanism.normalise) return normalised(mechanism, query, key, value, learned);
  return attend(query, key, value, options_of(mechanism, learned, query.size(-2), key.size(-2)));
}

Tensor run_by_ops(const Mechanism& mechanism, const Tensor& query, const Tensor& key, const Tensor& value,
                  const Learned& learned) {
  if (!mechanism.in_tiles()) return run(mechanism, query, key, value, learned);
  return attend_by_ops(query, key, value, options_of(mechanism, learned, query.size(-2), key.size(-2)));
}

Tensor weights_of(const Mechanism& mechanism, const Tensor& query, const Tensor& key,
                  const Learned& learned) {
  const Size keys = key.size(-2);
  Dims shape = key.shape();
  shape.back() = keys;
  return run(mechanism, query, key, expand(eye(keys, key.dtype()), shape), learned);
}

bool check(const Mechanism& mechanism, Report& report, std::uint64_t seed) {
  constexpr Size kShort = 6, kLong = 150;  // one tile, and several of them
  const Learned few = draw(mechanism, kShort, seed, DType::f64);
  const auto tiles = [&](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
    return run(mechanism, q, k, v, learned);
  };
  const auto plain = [&](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
    return run_by_ops(mechanism, q, k, v, learned);
  };
  const GradcheckResult slopes = gradcheck([&] { return run_on(few, tiles); }, {}, few, {.seed = seed});
  if (!slopes.ok()) fmt::print("{}\n", slopes.report());
  bool ok = slopes.ok();
  std::string line = fmt::format("{}: gradcheck, {} derivatives", mechanism.name, slopes.compared);
  if (mechanism.in_tiles()) {
    double apart = 0;
    for (const Size words : {kShort, kLong}) {
      const Learned all = draw(mechanism, words, seed, DType::f64);
      const auto in_tiles = [&] { return run_on(all, tiles); };
      const auto by_ops = [&] { return run_on(all, plain); };
      const double value = largest(in_tiles() - by_ops());
      const double gradient = farthest(gradients(in_tiles, all, seed), gradients(by_ops, all, seed));
      if (std::max(value, gradient) > 1e-11)
        fmt::print("  {} words: tiles and plain ops are {:.1e} apart, gradients {:.1e}\n", words, value,
                   gradient);
      apart = std::max({apart, value, gradient});
    }
    ok = ok && apart < 1e-11;
    line += "; plain ops the same to 1e-11";
  }
  if (mechanism.mask && !mechanism.ops) {
    const Mask pairs = mechanism.mask(kShort, kShort).mask();
    const Tensor weights = weights_of(mechanism, few[0], few[1], Learned(few.begin() + 3, few.end()));
    const double outside = largest(where(pairs, zeros({}, DType::f64), weights));
    if (outside != 0) fmt::print("  pairs outside the mask have weights of up to {:.1e}\n", outside);
    ok = ok && outside == 0;
  }
  return report.check(line, ok);
}

void time(const Mechanism& mechanism, Size words) {
  const Learned all = draw(mechanism, words, 1, DType::f32);
  const auto milliseconds = [&](const auto& attention) {
    return 1000 * fastest(3, [&] { gradients([&] { return run_on(all, attention); }, all, 1); });
  };
  const double own = milliseconds([&](const Tensor& q, const Tensor& k, const Tensor& v,
                                      const Learned& learned) { return run(mechanism, q, k, v, learned); });
  fmt::print("  {}, {} words, {} heads, forward and backward: {:.1f} ms", mechanism.name, words,
             mechanism.heads, own);
  if (mechanism.in_tiles()) {
    const double plain =
        milliseconds([&](const Tensor& q, const Tensor& k, const Tensor& v, const Learned& learned) {
          return run_by_ops(mechanism, q, k, v, learned);
        });
    fmt::print(" in tiles, {:.1f} ms from plain ops ({:.1f} times as long)\n", plain, plain / own);
  } else {
    fmt::print("\n");
  }
}

void show_map(const Mechanism& mechanism, const std::filesystem::path& file, const Learned& learned,
              Size words) {
  const Dims shape{1, mechanism.heads, words, mechanism.width};
  const bool by_place = static_cast<bool>(mechanism.score);
  const Tensor query = by_place ? zeros(shape) : random_normal(shape, 1),
               key = by_place ? zeros(shape) : random_normal(shape, 2);
  const Tensor weights =
      weights_of(mechanism, query, key, learned.empty() ? first_values(mechanism, 1) : learned);
  HeatmapGrid grid{fmt::format("{}: who looks where{}", mechanism.name,
                               by_place ? ", by place alone" : ", for random queries and keys"),
                   {},
                   4};
  std::vector<std::string> places;
  for (Size i = 0; i < words; ++i) places.push_back(std::to_string(i));
  for (Size head = 0; head < mechanism.heads; ++head)
    grid.maps.push_back({.title = fmt::format("head {}", head + 1),
                         .columns = places,
                         .rows = places,
                         .values = select(select(weights, 0, 0), 0, head).to_vector()});
  double most = 0;
  for (const Heatmap& map : grid.maps)
    for (const double weight : map.values) most = std::max(most, weight);
  // A row that looks at one key alone is no measure for the others.
  for (Heatmap& map : grid.maps) map.most = std::min(most, 0.5);
  show(grid, file);
}

}  // namespace tapestry::kit
