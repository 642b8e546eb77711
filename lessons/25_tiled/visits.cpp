#include "lessons/25_tiled/visits.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/attention/attend.hpp"
#include "lessons/25_tiled/experiment.hpp"
#include "lessons/25_tiled/memory_profiler.hpp"
#include "lessons/kit/program/files.hpp"

namespace tapestry::lesson25 {
namespace {

using Json = nlohmann::ordered_json;

constexpr Size kWords = 480, kWidth = 2;

Json rounded(const Tensor& values, double unit) {
  Json all = Json::array();
  for (const double value : values.to_vector()) all.push_back(std::llround(value / unit));
  return all;
}

/// Attention of the first queries to the first keys.
Json visit(const Inputs& x, Size queries, Size keys, bool causal) {
  const Tensor q = rows(x.q, 0, queries), k = rows(x.k, 0, keys), v = rows(x.v, 0, keys);
  const BlockMask mask = causal ? BlockMask::causal(queries, keys) : BlockMask();
  MemoryProfiler profiler;
  attend(q, k, v, {.mask = mask, .score_mod = profiled(profiler)});
  return {{"queries", queries},
          {"keys", keys},
          {"causal", causal},
          {"order", profiler.visited_tiles},
          {"log_sum_exp", rounded(attend_partial(q, k, v, {.mask = mask}).log_sum_exp, 1e-3)}};
}

}  // namespace

void save_visits(const kit::Options& options) {
  constexpr double kHundredth = 0.01;
  const Inputs drawn = draw({kWords, kWidth}, {kWords, kWidth}, options.seed);
  const auto coarse =
      [](const Tensor& x) {  // round first, so that the page receives the same numbers that we compute with
        std::vector<double> values = x.to_vector();
        for (double& value : values) value = std::round(value / kHundredth) * kHundredth;
        return tensor(values, x.shape(), x.dtype());
      };
  const Inputs x{coarse(drawn.q), coarse(drawn.k), drawn.v};
  Json runs = Json::array();
  for (const auto& [queries, keys] : {std::pair{kWords, kWords}, {300, 300}, {200, 300}})
    for (const bool causal : {false, true}) runs.push_back(visit(x, queries, keys, causal));
  const Json all = {{"width", kWidth},
                    {"query_tile", simd::kQueryTile},
                    {"key_tile", simd::kKeyTile},
                    {"q", rounded(x.q, kHundredth)},
                    {"k", rounded(x.k, kHundredth)},
                    {"runs", runs}};
  kit::write_atomically(options.out / "visits.json", all.dump() + "\n");
}

}  // namespace tapestry::lesson25
