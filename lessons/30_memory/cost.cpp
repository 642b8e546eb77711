// Measures time and memory of one head by text length.
#include "lessons/30_memory/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "core/attention/attend.hpp"
#include "core/attention/linear_attend.hpp"
#include "core/core.hpp"
#include "core/simd/runtime/memory.hpp"
#include "lessons/kit/program/stopwatch.hpp"

namespace tapestry::lesson30 {
namespace {

constexpr Size kModelWidth = 64;

struct Inputs {
  Tensor q, k, v, log_decay;  // (T, d) each; (T)
  std::vector<Tensor> leaves(bool gate) const {
    return gate ? std::vector{q, k, v, log_decay} : std::vector{q, k, v};
  }
};
using AttentionFunction = std::function<Tensor(const Inputs& x)>;

struct Method {
  const char* name;
  bool gate;
  AttentionFunction attention;
  kit::Series time = {}, memory = {};  // ms, MiB
};

/// Returns the peak memory beyond the inputs, in MiB, sampled after each op and each gradient.
double memory_of(const Method& method, const Inputs& x) {
  const Size before = simd::pool_stats().in_use;
  Size most = before;
  const auto look = [&most] { most = std::max(most, simd::pool_stats().in_use); };
  Tape tape;
  tape.on_value([&](const NodeInfo&, const Tensor& value) {
    look();
    tape.on_gradient(value, [&](const Tensor&) {
      look();
      return Tensor();  // leaves the gradient unchanged
    });
  });
  const Tensor y = method.attention(x);
  tape.gradients(y, ones(y.shape()), x.leaves(method.gate));
  return static_cast<double>(most - before) / (1 << 20);
}

double time_of(const Method& method, const Inputs& x) {
  const int runs = x.q.size(0) < 4096 ? 5 : 2;
  return 1e3 * kit::fastest(runs, [&] {
           Tape tape;
           const Tensor y = method.attention(x);
           tape.gradients(y, ones(y.shape()), x.leaves(method.gate));
         });
}

/// Returns the largest x at which two curves cross, interpolated on logarithmic axes, or NaN if they do not cross.
double crossing_of(const kit::Series& a, const kit::Series& b) {
  for (std::size_t i = a.x.size(); i-- > 1;) {
    const double right = std::log(a.y[i] / b.y[i]), left = std::log(a.y[i - 1] / b.y[i - 1]);
    if ((left > 0) == (right > 0)) continue;
    return std::exp(std::log(a.x[i - 1]) + left / (left - right) * std::log(a.x[i] / a.x[i - 1]));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Costs measure_costs(const kit::Options& options) {
  const auto linear_attention = [](bool gate, WriteRule rule) -> AttentionFunction {
    return [gate, rule](const Inputs& x) {
      return linear_attend(x.q, x.k, x.v, {.rule = rule, .log_decay = gate ? x.log_decay : Tensor()}).output;
    };
  };
  const auto exact = [](const Inputs& x) {
    const Size words = x.q.size(0);
    return attend(x.q, x.k, x.v, {.mask = BlockMask::causal(words, words)});
  };
  std::array<Method, 4> methods = {{{"attend()", false, exact},
                                    {"sum", false, linear_attention(false, WriteRule::sum)},
                                    {"sum, gate", true, linear_attention(true, WriteRule::sum)},
                                    {"delta", false, linear_attention(false, WriteRule::delta)}}};
  fmt::print("                 time in ms                          memory in MiB\n       T");
  for (int table = 0; table < 2; ++table) {
    for (const Method& method : methods) fmt::print("  {:>9}", method.name);
    if (table == 0) fmt::print("   ");
  }
  fmt::print("\n");
  for (Size words = 64; words <= (options.smoke ? 256 : 16384); words *= 2) {
    const auto normal = [&](std::uint64_t stream) {
      return random_normal({words, kModelWidth}, 10 * options.seed + stream);
    };
    const Tensor keys = normal(1);
    const Inputs x{variable(normal(0)), variable((keys / sqrt(sum(keys * keys, {-1}, Keep::yes))).detach()),
                   variable(normal(2)), variable(random_uniform({words}, options.seed, -0.1, 0))};
    fmt::print("  {:>6}", words);
    for (Method& method : methods) {
      method.time.x.push_back(static_cast<double>(words)),
          method.memory.x.push_back(static_cast<double>(words));
      method.time.y.push_back(time_of(method, x));
      fmt::print("  {:>9.2f}", method.time.y.back());
    }
    fmt::print("   ");
    for (Method& method : methods) {
      method.memory.y.push_back(memory_of(method, x));
      fmt::print("  {:>9.2f}", method.memory.y.back());
    }
    fmt::print("\n");
  }
  kit::Chart time{"One head, forward and backward", "words T", "ms"},
      memory{"Peak memory of one head", "words T", "MiB"};
  for (Method& method : methods) {
    method.time.name = method.memory.name = method.name;
    time.series.push_back(method.time), memory.series.push_back(method.memory);
  }
  for (kit::Chart* chart : {&time, &memory}) chart->x_scale = chart->y_scale = kit::Scale::log;
  kit::show(time, options.out / "time.svg");
  kit::show(memory, options.out / "memory.svg");
  const auto& sum_memory = methods[1].memory.y;
  return {methods[0].time.y.back() / methods[1].time.y.back(),
          std::log2(sum_memory.back() / sum_memory[sum_memory.size() - 2]),
          crossing_of(methods[0].time, methods[1].time)};
}

}  // namespace tapestry::lesson30
