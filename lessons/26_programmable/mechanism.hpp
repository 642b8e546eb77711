// A mechanism of attention as one description: to be checked, timed, drawn and trained, each with one call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/attention/attend.hpp"
#include "lessons/kit/picture/picture.hpp"
#include "lessons/kit/program/report.hpp"
#include "nn/attention/learned_score_mod.hpp"
#include "nn/attention/normalise.hpp"

namespace tapestry::kit {

/// What it does not say is as usual: scores q·k / √d, softmax, every pair. Queries and keys are (B, heads, T,
/// width).
struct Mechanism {
  std::string name;
  Size heads = 4, width = 16;
  /// Name, shape and first values of each tensor that it learns.
  std::vector<ProgramParameter> learned = {};
  /// By element: what is done to the scores. It goes into a transformer as score_mod = {learned, score}.
  MakeScoreMod score = {};
  /// By mechanism: what makes the scores instead of q·k.
  std::function<PairScore(const std::vector<Tensor>& learned)> pairs = {};
  /// Which pairs of so many queries and keys count.
  std::function<BlockMask(Size queries, Size keys)> mask = {};
  bool sink = false;
  /// Instead of softmax. There are no tiles then: all is done by ops.
  std::optional<Normaliser> normalise = {};
  /// By ops: the whole attention, query, key and value → context, instead of all above.
  std::function<Tensor(const Tensor& query, const Tensor& key, const Tensor& value,
                       const std::vector<Tensor>& learned)>
      ops = {};

  bool can_tile() const { return !ops && !normalise; }
};

/// First values of what it learns.
std::vector<Tensor> first_values(const Mechanism& mechanism, std::uint64_t seed, DType dtype = DType::f32);

/// Random query, key and value (1, heads, words, width), then what it learns, moved a little from its first
/// values so that no table is all zeros or all alike: leaves, each with its name.
std::vector<Tensor> random_inputs(const Mechanism& mechanism, Size words, std::uint64_t seed, DType dtype);

/// The context (B, heads, Tq, d_v): in tiles where they can do it.
Tensor run(const Mechanism& mechanism, const Tensor& query, const Tensor& key, const Tensor& value,
           const std::vector<Tensor>& learned);
/// The same from plain ops, matrix and all.
Tensor run_by_ops(const Mechanism& mechanism, const Tensor& query, const Tensor& key, const Tensor& value,
                  const std::vector<Tensor>& learned);
/// The weights (B, heads, Tq, Tk): what run() makes of values that are the unit vectors.
Tensor weights_of(const Mechanism& mechanism, const Tensor& query, const Tensor& key,
                  const std::vector<Tensor>& learned);

/// In f64, for random_inputs(): gradcheck of query, key and value at 6 words (at 40 or 150 where those have
/// no pair), and of all that is learned at 6, 40 and 150, so that it comes to what only far pairs read; tiles
/// and plain ops 1e-11 apart at most, values and gradients, for a short and a long text. What is learned and
/// has no gradient is a failure; numbers of it that none of the texts reaches are counted and said. Then
/// fits_cache(), and where there is a mask nothing_outside(). A line for each, what failed above it. Returns
/// whether all holds.
bool check(const Mechanism& mechanism, Report& report, std::uint64_t seed = 1);
/// The second line of check(): the last queries of a text alone, with all of its keys, come out as they do
/// among the others. That is what a model with a cache of keys asks for, which writes word by word. A
/// mechanism by ops may need all queries at once: that is said, and no failure.
bool fits_cache(const Mechanism& mechanism, Report& report, std::uint64_t seed = 1);
/// The third line of check(): no pair outside the mask has a weight, and a query's context stays the same
/// when the keys and values that are masked for it change, so that they enter no sum either. A query without
/// any pair is said, and no failure.
bool nothing_outside(const Mechanism& mechanism, Report& report, std::uint64_t seed = 1);

/// A query, and a key behind it that its context depends on.
struct Ahead {
  Size query = 0, key = 0;
};
/// The first query of a text of so many words whose context depends on what stands behind it. A model that
/// predicts the next token would read its answers there.
std::optional<Ahead> looks_ahead(const Mechanism& mechanism, Size words, std::uint64_t seed = 1);

/// How long forward and backward take for a text of so many words, beside plain ops. Not judged.
std::string timing(const Mechanism& mechanism, Size words = 1024);

/// What the colours of a weights_map() say: for the title of a picture that has one.
inline constexpr const char* kEvenShares = "from 0 to 3 even shares of a row";
/// A map of weights (Tq, Tk) in even shares: weight · n, where n keys of its row have a weight; 0 and less
/// are the palest colour, 3 and more the deepest. So a row that looks at few keys and a row that looks at all
/// of them can both be seen, and a row that does not sum to 1 is paler as a whole. Labels are the numbers of
/// the places.
Heatmap weights_map(std::string title, const Tensor& weights);

/// Draws its weights for a text of so many words, a weights_map() for each head: where it has a score by
/// element, of the place alone (queries and keys are 0); otherwise of random queries and keys. `learned`:
/// after training; none: first values.
void show_map(const Mechanism& mechanism, const std::filesystem::path& file,
              const std::vector<Tensor>& learned = {}, Size words = 32);

}  // namespace tapestry::kit
