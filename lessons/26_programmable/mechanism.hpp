// The description of an attention mechanism, with functions that check, time, draw and train it in one call
// each.
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

/// Fields without a value mean the usual attention: scores q·k / √d, softmax, every pair visible. Queries and
/// keys have the shape (B, heads, T, width).
struct Mechanism {
  std::string name;
  Size heads = 4, width = 16;
  /// Name, shape and initial values of each learned tensor.
  std::vector<ScoreModParameter> learned = {};
  /// By element: the change of the scores. In a transformer, use score_mod = {learned, score_mod}.
  MakeScoreMod score_mod = {};
  /// By mechanism: computes the scores in place of q·k.
  std::function<PairScore(const std::vector<Tensor>& learned)> pair_score = {};
  /// Returns the visible pairs for these numbers of queries and keys.
  std::function<BlockMask(Size queries, Size keys)> mask = {};
  /// Returns the sink: true for the score 0, or learned(scores) for a learned score per head. Unused with
  /// `normalise`.
  std::function<Sink(const std::vector<Tensor>& learned)> sink = {};
  /// Replaces softmax. Then everything is computed by ops, without tiles.
  std::optional<Normaliser> normalise = {};
  /// By ops: the whole attention, query, key and value → context. Replaces all fields above.
  std::function<Tensor(const Tensor& query, const Tensor& key, const Tensor& value,
                       const std::vector<Tensor>& learned)>
      ops = {};

  bool can_tile() const { return !ops && !normalise; }
};

/// Returns the initial values of the learned tensors.
std::vector<Tensor> first_values(const Mechanism& mechanism, std::uint64_t seed, DType dtype = DType::f32);

/// Returns random query, key and value (1, heads, words, width), followed by the learned tensors. These are
/// moved a little from their initial values, so that no table is all zeros or constant. All are leaves with
/// names.
std::vector<Tensor> random_inputs(const Mechanism& mechanism, Size words, std::uint64_t seed, DType dtype);

/// Returns the context (B, heads, Tq, d_v). Uses tiles if the mechanism allows it.
Tensor run(const Mechanism& mechanism, const Tensor& query, const Tensor& key, const Tensor& value,
           const std::vector<Tensor>& learned);
/// Returns the same result from plain ops, with the whole matrix.
Tensor run_by_ops(const Mechanism& mechanism, const Tensor& query, const Tensor& key, const Tensor& value,
                  const std::vector<Tensor>& learned);
/// Returns the weights (B, heads, Tq, Tk). These are the result of run() if the values are the unit vectors.
Tensor weights_of(const Mechanism& mechanism, const Tensor& query, const Tensor& key,
                  const std::vector<Tensor>& learned);

/// Checks a mechanism in f64 on random_inputs(), prints a line for each check, and returns whether all hold.
///
/// gradcheck compares query, key and value at 6 words (at 40 or 150 if the mechanism has no pair there), and all
/// learned tensors at 6, 40 and 150 words, so that it also covers numbers that only distant pairs use. Tiles and
/// plain ops must agree to 1e-11, in values and gradients, for a short and a long text. A learned tensor without a
/// gradient is a failure. Numbers in it that none of the texts uses are counted and reported. Then
/// matches_cached_decoding() runs, and ignores_masked_keys() if there is a mask. The reasons for a failure are
/// printed above its line.
bool check(const Mechanism& mechanism, Report& report, std::uint64_t seed = 1);
/// The second check of check(): the last queries of a text alone, with all keys, must have the same results
/// as among all queries. A model with a cache of keys needs this when it writes word by word. A mechanism by
/// ops may need all queries at once: this is reported, but it is no failure.
bool matches_cached_decoding(const Mechanism& mechanism, Report& report, std::uint64_t seed = 1);
/// The third check of check(): no pair outside the mask has a weight, and the context of a query does not
/// change when its masked keys and values change. A query without any visible pair is reported, but it is no
/// failure.
bool ignores_masked_keys(const Mechanism& mechanism, Report& report, std::uint64_t seed = 1);

/// A query, and a later key on which its context depends.
struct Ahead {
  Size query = 0, key = 0;
};
/// Returns the first query of a text with `words` words whose context depends on a later key. If there is
/// one, a model that predicts the next token could copy the answers from there.
std::optional<Ahead> looks_ahead(const Mechanism& mechanism, Size words, std::uint64_t seed = 1);

/// Returns the times of forward and backward for a text with `words` words, and those of plain ops. They are
/// not checked.
std::string timing(const Mechanism& mechanism, Size words = 1024);

/// Describes the colours of a weights_map(), for the title of a picture that contains one.
inline constexpr const char* kWeightsMapScale = "from 0 to 3 times the uniform weight of a row";
/// Returns a map of the weights (Tq, Tk), each divided by the uniform weight of its row: weight · n, where n
/// keys of the row have a weight. 0 and less have the palest colour, 3 and more the deepest. So rows with few
/// and with many keys are both visible, and a row whose weights do not sum to 1 is paler or deeper as a
/// whole. The labels are positions.
Heatmap weights_map(std::string title, const Tensor& weights);

/// Draws the weights for a text with `words` words, a weights_map() for each head. If the mechanism has a
/// score by element, the map shows positions alone (queries and keys are 0). Otherwise queries and keys are
/// random. Uses `learned` if it is given, and the initial values if not.
void show_map(const Mechanism& mechanism, const std::filesystem::path& file,
              const std::vector<Tensor>& learned = {}, Size words = 32);

}  // namespace tapestry::kit
