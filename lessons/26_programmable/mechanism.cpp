#include "lessons/26_programmable/mechanism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/picture/heatmap_grid.hpp"
#include "lessons/kit/program/stopwatch.hpp"

namespace tapestry::kit {

namespace {

using Learned = std::vector<Tensor>;

AttendOptions options_of(const Mechanism& mechanism, const Learned& learned, Size queries, Size keys) {
  AttendOptions options;
  if (mechanism.pair_score) options.pair_score = mechanism.pair_score(learned);
  if (mechanism.mask) options.mask = mechanism.mask(queries, keys);
  if (mechanism.score_mod) options.score_mod = mechanism.score_mod(learned, queries, keys);
  if (mechanism.sink) options.sink = mechanism.sink(learned);
  return options;
}

/// Attention with a normaliser other than softmax.
Tensor normalised(const Mechanism& mechanism, const Tensor& query, const Tensor& key, const Tensor& value,
                  const Learned& learned) {
  const AttendOptions options = options_of(mechanism, learned, query.size(-2), key.size(-2));
  Mask live = options.mask.tiled(query.size(-2), key.size(-2)).mask();
  const auto score = [&] {
    const Tensor scores =
        options.pair_score.defined()
            ? options.pair_score.impl().by_ops(query, key, options.pair_score.learned().data(), live)
            : matmul(query, transpose(key)) / std::sqrt(static_cast<double>(query.size(-1)));
    return options.score_mod.defined() ? options.score_mod.by_ops(scores, live) : scores;
  };
  Tensor scores = score();
  if (const auto rest = mask_out_neg_inf(live, scores)) live = *rest, scores = score();
  return matmul((*mechanism.normalise)(scores, live), value);
}

}  // namespace

Learned first_values(const Mechanism& mechanism, std::uint64_t seed, DType dtype) {
  ScoreModLayer holder({}, {mechanism.learned, [](const Learned&, Size, Size) { return ScoreMod(); }});
  holder.initialise(seed, dtype);
  return holder.parameters();
}

Learned random_inputs(const Mechanism& mechanism, Size words, std::uint64_t seed, DType dtype) {
  Learned all;
  const Dims shape{1, mechanism.heads, words, mechanism.width};
  for (const char* name : {"query", "key", "value"})
    all.push_back(variable(random_normal(shape, seed + all.size(), dtype), name));
  Learned values = first_values(mechanism, seed, dtype);
  for (Tensor& one : values) {
    // So that no table is all zeros or constant.
    assign(one, one + 0.05 * (1 + abs(one)) * random_normal(one.shape(), seed + all.size(), dtype));
    all.push_back(one);
  }
  return all;
}

Tensor run(const Mechanism& mechanism, const Tensor& query, const Tensor& key, const Tensor& value,
           const Learned& learned) {
  if (mechanism.ops) return mechanism.ops(query, key, value, learned);
  if (mechanism.normalise) return normalised(mechanism, query, key, value, learned);
  return attend(query, key, value, options_of(mechanism, learned, query.size(-2), key.size(-2)));
}

Tensor run_by_ops(const Mechanism& mechanism, const Tensor& query, const Tensor& key, const Tensor& value,
                  const Learned& learned) {
  if (!mechanism.can_tile()) return run(mechanism, query, key, value, learned);
  return attend_by_ops(query, key, value, options_of(mechanism, learned, query.size(-2), key.size(-2)));
}

Tensor weights_of(const Mechanism& mechanism, const Tensor& query, const Tensor& key,
                  const Learned& learned) {
  const Size keys = key.size(-2);
  Dims shape = key.shape();
  shape.back() = keys;
  return run(mechanism, query, key, expand(eye(keys, key.dtype()), shape), learned);
}

std::string timing(const Mechanism& mechanism, Size words) {
  const Learned all = random_inputs(mechanism, words, 1, DType::f32);
  const auto milliseconds = [&](const auto& attention) {
    const auto once = [&] {
      return attention(mechanism, all[0], all[1], all[2], Learned(all.begin() + 3, all.end()));
    };
    return 1000 * fastest(3, [&] { gradients(once, all, 1); });
  };
  const double own = milliseconds(run);
  const std::string line = fmt::format("{}, {} words, {} heads, forward and backward: {:.1f} ms",
                                       mechanism.name, words, mechanism.heads, own);
  if (mechanism.ops) return line;  // ops may call attend() themselves, so there is no comparison
  if (mechanism.normalise) return line + " by ops (a normaliser has no tiles)";
  const double plain = milliseconds(run_by_ops);
  return line + fmt::format(" in tiles, {:.1f} ms from plain ops ({:.1f} times as long)", plain, plain / own);
}

Heatmap weights_map(std::string title, const Tensor& weights) {
  constexpr double kDeepest = 3;
  Heatmap map{.title = std::move(title),
              .columns = numbered(weights.size(1)),
              .rows = numbered(weights.size(0)),
              .values = weights.to_vector(),
              .most = kDeepest};
  for (auto row = map.values.begin(); row != map.values.end(); row += weights.size(1)) {
    const auto end = row + weights.size(1);
    const auto seen = static_cast<double>(std::count_if(row, end, [](double weight) { return weight != 0; }));
    std::for_each(row, end, [seen](double& weight) { weight *= seen; });
  }
  return map;
}

void show_map(const Mechanism& mechanism, const std::filesystem::path& file, const Learned& learned,
              Size words) {
  const Dims shape{1, mechanism.heads, words, mechanism.width};
  const bool by_place = static_cast<bool>(mechanism.score_mod);
  const Tensor query = by_place ? zeros(shape) : random_normal(shape, 1),
               key = by_place ? zeros(shape) : random_normal(shape, 2);
  const Tensor weights =
      weights_of(mechanism, query, key, learned.empty() ? first_values(mechanism, 1) : learned);
  HeatmapGrid grid{
      fmt::format("{}: attention weights{}; {}", mechanism.name,
                  by_place ? ", by position alone" : ", for random queries and keys", kWeightsMapScale),
      {},
      4};
  std::vector<double> may(static_cast<std::size_t>(mechanism.heads * words * words), 1);
  if (const BlockMask mask = mechanism.mask && !mechanism.ops ? mechanism.mask(words, words) : BlockMask();
      mask.defined())
    may = where(mask.mask(), full(weights.shape(), 1), zeros({})).to_vector();
  for (Size head = 0; head < mechanism.heads; ++head) {
    Heatmap map = weights_map(fmt::format("head {}", head + 1), select(select(weights, 0, 0), 0, head));
    for (std::size_t pair = 0; pair < map.values.size(); ++pair)  // masked pairs are drawn as gaps
      if (may[static_cast<std::size_t>(head) * map.values.size() + pair] == 0)
        map.values[pair] = std::nan("");
    grid.maps.push_back(std::move(map));
  }
  show(grid, file);
}

}  // namespace tapestry::kit
