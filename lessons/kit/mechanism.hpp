// A mechanism of attention as one description: to be checked, timed, drawn and trained, each with one call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/ops/attend.hpp"
#include "lessons/kit/report.hpp"
#include "nn/attention/normalise.hpp"
#include "nn/positions/programmed.hpp"

namespace tapestry::kit {

/// What it does not say is as usual: scores q·k / √d, softmax, every pair. Queries and keys are (B, heads, T,
/// width).
struct Mechanism {
  std::string name;
  Size heads = 4, width = 16;
  /// Name, shape and first values of each tensor that it learns.
  std::vector<ProgramParameter> learned = {};
  /// By element: what is done to the scores. It goes into a transformer as programmed(learned, score).
  ScoreProgram score = {};
  /// By mechanism: what makes the scores instead of q·k.
  std::function<PairScore(const std::vector<Tensor>& learned)> pairs = {};
  /// Which pairs of so many queries and keys count.
  std::function<BlockMask(Size queries, Size keys)> mask = {};
  bool sink = false;
  /// Instead of softmax. There are no tiles then: all is done by ops.
  Normaliser normalise = {};
  /// By ops: the whole attention, query, key and value → context, instead of all above.
  std::function<Tensor(const Tensor& query, const Tensor& key, const Tensor& value,
                       const std::vector<Tensor>& learned)>
      ops = {};

  bool in_tiles() const { return !ops && !normalise; }
};

/// First values of what it learns.
std::vector<Tensor> first_values(const Mechanism& mechanism, std::uint64_t seed, DType dtype = DType::f32);

/// The context (B, heads, Tq, d_v): in tiles where they can do it.
Tensor run(const Mechanism& mechanism, const Tensor& query, const Tensor& key, const Tensor& value,
           const std::vector<Tensor>& learned);
/// The same from plain ops, matrix and all.
Tensor run_by_ops(const Mechanism& mechanism, const Tensor& query, const Tensor& key, const Tensor& value,
                  const std::vector<Tensor>& learned);
/// The weights (B, heads, Tq, Tk): what run() makes of values that are the unit vectors.
Tensor weights_of(const Mechanism& mechanism, const Tensor& query, const Tensor& key,
                  const std::vector<Tensor>& learned);

/// In f64: gradcheck for query, key, value and all that is learned, moved a little from its first values;
/// tiles and plain ops 1e-11 apart at most, values and gradients, for a short and a long text; no weight
/// where the mask says no. One line, and gradcheck's own report where it fails. Returns whether all holds.
bool check(const Mechanism& mechanism, Report& report, std::uint64_t seed = 1);

/// Prints how long forward and backward take for a text of so many words, beside plain ops. Not judged.
void time(const Mechanism& mechanism, Size words = 1024);

/// Draws its weights for a text of so many words, a map for each head: where it has a score by element, of
/// the place alone (queries and keys are 0); otherwise of random queries and keys. `learned`: after training;
/// none: first values.
void show_map(const Mechanism& mechanism, const std::filesystem::path& file,
              const std::vector<Tensor>& learned = {}, Size words = 32);

}  // namespace tapestry::kit
