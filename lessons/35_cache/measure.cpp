#include "lessons/35_cache/measure.hpp"

#include <fmt/format.h>

#include "core/core.hpp"
#include "lessons/35_cache/models.hpp"
#include "lessons/kit/program/stopwatch.hpp"

namespace tapestry::lesson35 {

namespace {

/// Appends random keys and values until the cache has `length` tokens. The speed does not depend on the values.
void fill_cache(StackCache& cache, Size length, std::uint64_t seed) {
  for (KeyValueCache& layer : cache.layers) {
    const auto more = [&](const Tensor& like) {
      if (!like.defined()) return Tensor{};
      Dims shape = like.shape();
      shape[like.rank() - 2] = length - layer.length();
      return random_normal(shape, seed++);
    };
    const Tensor keys = more(layer.keys()), values = more(layer.values());
    layer.append(keys, values);
  }
}

}  // namespace

double measure_kinds(const kit::Options& options) {
  const ModelSizes sizes{.layers = 2,
                         .width = options.smoke ? 32 : 512,
                         .heads = 8,
                         .hidden = options.smoke ? 32 : 1024,
                         .vocabulary = 16};
  const Size shortest = options.smoke ? 16 : 128, longest = options.smoke ? 64 : 8192;
  kit::Chart bytes{"Size of the cache", "tokens in the cache", "MB", {}, {}};
  kit::Chart speed{"Speed of generation with one text", "tokens in the cache", "tokens per second", {}, {}};
  for (kit::Chart* chart : {&bytes, &speed}) chart->x_scale = kit::Scale::log;
  bytes.y_scale = kit::Scale::log;
  fmt::print("  {:<6}{:>12}{:>14}{:>18}\n", "", "tokens", "cache, MB", "tokens per second");
  double of_mha = 0, of_mla = 0;
  for (const Kind kind : kKinds) {
    LanguageModel gpt(model_options(kind, sizes));
    gpt.initialise(options.seed);
    gpt.eval();
    bytes.series.push_back({name_of(kind)});
    speed.series.push_back({name_of(kind)});
    const Indices token({3}, {1, 1});
    for (Size length = shortest; length <= longest; length *= 4) {
      StackCache cache = gpt.cache(length + 8);
      gpt(token, cache);
      fill_cache(cache, length, options.seed);
      const double megabytes = static_cast<double>(bytes_in(cache)) / 1e6;
      const double per_second = 1 / kit::fastest(5, [&] { gpt(token, cache); });
      bytes.series.back().x.push_back(static_cast<double>(length));
      bytes.series.back().y.push_back(megabytes);
      speed.series.back().x.push_back(static_cast<double>(length));
      speed.series.back().y.push_back(per_second);
      fmt::print("  {:<6}{:>12}{:>14.3f}{:>18.0f}\n", name_of(kind), length, megabytes, per_second);
      if (kind == Kind::mha) of_mha = megabytes;
      if (kind == Kind::mla) of_mla = megabytes;
    }
  }
  kit::show(bytes, options.out / "bytes.svg");
  kit::show(speed, options.out / "speed.svg");
  return of_mha / of_mla;
}

}  // namespace tapestry::lesson35
