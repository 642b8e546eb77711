#include "nn/attention/attention.hpp"

#include <algorithm>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"
#include "nn/attention/masking.hpp"
#include "nn/attention/weight_recorder.hpp"

namespace tapestry {

namespace {

/// Minimum numbers of query-key pairs and of queries for which tiles are faster than plain ops. With one query and a
/// long cache, most of a tile would be empty.
constexpr Size kMinTiledPairs = 64 * 64, kMinTiledQueries = 16;

/// Adds the scheme's terms to scores (…, Tq, Tk) for keys at these positions. The queries are the last Tq keys.
/// Computes the terms of consecutive positions, and gathers the needed ones.
Tensor add_terms(const Tensor& scores, const PairPositions& scheme, const std::vector<Size>& positions) {
  const Size queries = scores.size(-2);
  if (queries == 0) return scores;
  const Size length = *std::max_element(positions.begin(), positions.end()) + 1;
  const Size first = *std::min_element(positions.end() - queries, positions.end());
  const std::optional<ScoreMod> mod = scheme.as_score_mod(length - first, length);
  if (!mod->defined()) return scores;
  Dims shape = scores.shape();
  shape[0] = 1;
  shape[shape.rank() - 2] = length - first;
  shape.back() = length;
  std::vector<Size> rows(positions.end() - queries, positions.end());
  for (Size& row : rows) row -= first;
  // embedding() gathers along axis 0, so the axis to gather changes places with the batch axis of size 1.
  const auto gather = [](const Tensor& x, int axis, const std::vector<Size>& from) {
    const Indices ids(from, {static_cast<Size>(from.size())});
    return transpose(embedding(transpose(x, 0, axis), ids), 0, axis);
  };
  const Tensor terms = mod->by_ops(zeros(shape, scores.dtype()));
  return scores + gather(gather(terms, -2, rows), -1, positions);
}

/// Selects rows of a mask that has a batch axis. Any other mask applies to all rows and is returned unchanged.
Mask rows_of(const Mask& mask, const std::vector<Size>& rows, int rank) {
  if (!mask.defined() || mask.rank() < rank || mask.shape()[0] == 1) return mask;
  Dims shape = mask.shape();
  const Size width = mask.count() / shape[0];
  const Mask flat = mask.reshape({shape[0], width});
  shape[0] = static_cast<Size>(rows.size());
  const auto at = [&](Size i, Size j) { return flat.data()[rows[static_cast<std::size_t>(i)] * width + j]; };
  return Mask::from(shape[0], width, at).reshape(shape);
}

}  // namespace

PreparedKV select_rows(const PreparedKV& memory, const std::vector<Size>& rows) {
  const Indices ids(rows, {static_cast<Size>(rows.size())});
  return {embedding(memory.keys, ids), embedding(memory.values, ids),
          memory.mask.in_tiles()  // shared by all rows
              ? memory.mask
              : rows_of(memory.mask.mask(memory.keys.size(-2)), rows, memory.values.rank()),
          rows_of(memory.live_queries, rows, memory.values.rank()),
          memory.data.defined() ? embedding(memory.data, ids) : Tensor{}};
}

Attention::Attention(Parent parent, const ScoreFactory& score, AttentionOptions options)
    : Module(std::move(parent)),
      score_(score({*this, ""})),
      options_(std::move(options)),
      dropout_({*this, "dropout"}, options_.dropout),
      positions_(options_.positions.pairs
                     ? options_.positions.pairs({*this, "positions"}, options_.pair_shape)
                     : ModulePtr<PairPositions>{}),
      sink_(options_.learned_sink ? Parameter(*this, "sink", {options_.pair_shape.heads}, zeros)
                                  : Parameter()) {
  if (options_.positions.input && !options_.positions.pairs)
    fail(
        "[attention{}] positions must be a scheme for pairs (rotary, alibi, …; nn/positions), got one that is added to "
        "the input; add it before attention",
        in_quotes());
  const LearnedScoreMod& program = options_.score_mod;
  if (program.make || !program.parameters.empty()) score_mod_.emplace(Parent{*this, "score_mod"}, program);
  if (options_.local) local_.emplace(Parent{*this, "window"}, *options_.local);
}

PreparedKV Attention::prepare(const Tensor& keys, const Tensor& values, const Mask& mask) const {
  if (keys.rank() < 2 || values.rank() < 2 || keys.size(-2) != values.size(-2))
    fail("[attention{}] keys and values must be (…, time, width) with equal times, got {} and {}",
         in_quotes(), describe(keys), describe(values));
  if (!mask.defined()) return prepare_masked(keys, values, {});
  const Mask pairs = mask.rank() == 1 ? mask.unsqueeze(0) : mask;
  const Tensor kept = zero_masked(visible_keys(pairs, keys.shape()), keys);
  const bool one_sequence = keys.ref().get() == values.ref().get();
  return prepare_masked(kept, one_sequence ? kept : zero_masked(visible_keys(pairs, values.shape()), values),
                        pairs);
}

PreparedKV Attention::prepare_masked(const Tensor& keys, const Tensor& values, const Mask& mask,
                                     const TokenPositions& positions) const {
  const Mask live_queries = mask.defined() ? visible_queries(mask) : Mask{};
  check_strict(live_queries, mask, "mask");
  const auto rotate = [&](const Tensor& part, Size first) { return positions_->rotate_keys(part, first); };
  return {score_->prepare(positions_ ? positions.apply(keys, rotate) : keys), values, mask, live_queries};
}

PreparedKV Attention::prepare(const Tensor& keys, const Tensor& values, const ValidLengths& lengths) const {
  if (!lengths.defined()) return prepare(keys, values);
  if (keys.rank() < 3 || lengths.shape()[0] != keys.size(0))
    fail("[attention{}] lengths must fit keys (batch, …, time, width), got {} lengths and keys {}",
         in_quotes(), to_string(lengths.shape()), describe(keys));
  Mask mask = lengths.mask(keys.size(-2));
  while (mask.rank() < keys.rank()) mask = mask.unsqueeze(1);
  return prepare(keys, values, mask);
}

void Attention::check_strict(const Mask& live_queries, const Mask& pairs, const char* what) const {
  if (!options_.strict || !live_queries.defined()) return;
  const auto rows = live_queries.to_vector();
  const auto empty = std::find(rows.begin(), rows.end(), false) - rows.begin();
  fail(
      "[attention{}] in strict mode every query must have a key, got none in row {} of the {} {}, one of {} such "
      "rows; give it a key or turn strict off",
      in_quotes(), empty, what, to_string(pairs.shape()), std::count(rows.begin(), rows.end(), false));
}

/// A scheme may index a table by head, so with another number of heads it would read out of bounds. A sink has one
/// score per head.
void Attention::check_heads(const Tensor& query, const Tensor& keys) const {
  std::optional<Size> wanted = positions_ ? positions_->heads() : std::nullopt;
  if (sink_.defined()) wanted = sink_.size(0);
  if (!wanted) return;
  Size heads = 1;
  for (int back = 3; back < std::max(query.rank(), keys.rank()); ++back)
    heads *=
        std::max(back <= query.rank() ? query.size(-back) : 1, back <= keys.rank() ? keys.size(-back) : 1);
  if (heads != *wanted)
    fail(
        "[attention{}] query and keys (batch, heads…, time, width) must have the {} heads of the {}, got "
        "query {} and keys {} with {}; set AttentionOptions::pair_shape.heads",
        in_quotes(), *wanted, sink_.defined() ? "sink" : "positions", describe(query), describe(keys), heads);
}

/// Throws for parts that use the indices of queries or keys as positions, because their results would be wrong.
void Attention::check_positions(const Tensor& query, const Tensor& keys, const ScoreState& state) const {
  if (state.positions.empty()) return;
  const Size count = keys.size(-2), queries = query.size(-2);
  if (static_cast<Size>(state.positions.size()) != count || queries > count)
    fail(
        "[attention{}] positions must be given for each key, and the queries are the last, got {} for {} keys, {} queries",
        in_quotes(), state.positions.size(), count, queries);
  const char* const unable = !score_->dot_factor(query) ? "a score that is no dot product"
                             : score_mod_               ? "a score_mod"
                             : local_                   ? "a local window"
                             : positions_ && !positions_->as_score_mod(queries, count)
                                 ? "a position scheme that is no score_mod"
                                 : nullptr;
  if (unable)
    fail(
        "[attention{}] tokens must follow one another with {}, got a list of positions; pass one token after another",
        in_quotes(), unable);
}

Tensor Attention::rotated(const Tensor& query, const Mask& live_queries, const ScoreState& state) const {
  const Tensor live = zero_masked(live_queries, query);
  if (!positions_) return live;
  const auto rotate = [&](const Tensor& part, Size first) { return positions_->rotate_queries(part, first); };
  if (state.positions.empty()) return rotate(live, state.step);
  return TokenPositions({state.positions.end() - query.size(-2), state.positions.end()}).apply(live, rotate);
}

Tensor Attention::scores_of(const Tensor& query, const PreparedKV& memory, const Mask& pairs,
                            ScoreState& state) const {
  state.mask = pairs;
  Tensor scores = score_->score(query, memory.keys, state);
  if (scores.rank() < 2 || scores.size(-2) != query.size(-2) || scores.size(-1) != memory.values.size(-2))
    fail("[attention{}] a score must return one number for each of {} queries and {} keys, got {}; fix {}",
         in_quotes(), query.size(-2), memory.values.size(-2), describe(scores), score_->type_name());
  if (positions_ && !state.positions.empty()) {
    scores = add_terms(scores, *positions_, state.positions);
  } else if (positions_) {
    if (const Tensor order = positions_->score(query, scores.size(-1)); order.defined())
      scores = scores + order;
    else if (const auto mod = positions_->as_score_mod(scores.size(-2), scores.size(-1));
             mod && mod->defined())
      scores = mod->by_ops(scores, pairs);
  }
  return score_mod_ ? (*score_mod_)(scores.size(-2), scores.size(-1), memory.data).by_ops(scores, pairs)
                    : scores;
}

Attention::ScoredPairs Attention::score_pairs(const Tensor& query, const PreparedKV& memory,
                                              ScoreState& state) const {
  const auto score = [&](const Mask& mask, const Mask& live_queries, ScoreState& next) {
    const Tensor rotated_query = rotated(query, live_queries, state);
    return ScoredPairs{rotated_query, scores_of(rotated_query, memory, mask, next), mask, live_queries};
  };
  ScoreState after = state;
  ScoredPairs pairs = score(memory.mask.mask(memory.keys.size(-2)), memory.live_queries, after);
  if (const std::optional<Mask> rest = mask_out_neg_inf(pairs.mask, pairs.scores)) {
    // A score of −∞ masks its pair. A query without any other pair must get no gradient, even if its values are NaN. So
    // the query is masked, too, and all pairs are scored again.
    after = state;
    pairs = score(*rest, visible_queries(*rest), after);
    pairs.scores = zero_masked(pairs.mask, pairs.scores);
  }
  state = std::move(after);
  return pairs;
}

Tensor Attention::weights_of(const Tensor& scores, const Mask& pairs) const {
  if (!sink_.defined()) return options_.normalise(scores, pairs);
  Dims by_head = Dims::filled(scores.rank(), 1), column = scores.shape(), seen = scores.shape();
  column.back() = seen.back() = 1;
  for (int axis = 1; axis + 2 < scores.rank(); ++axis) by_head[axis] = scores.size(axis);
  const Tensor with_sink = concat({scores, expand(reshape(sink_, by_head), column)}, -1);
  Mask visible;
  if (pairs.defined()) {
    // The sink's column is visible to every query.
    const Mask keys = pairs.expand(scores.shape(), "attention");
    const std::vector<bool> may = keys.to_vector();
    const Size count = scores.size(-1);
    visible = Mask::from(column.count(), count + 1, [&](Size row, Size j) {
                return j == count || may[static_cast<std::size_t>(row * count + j)];
              }).reshape(with_sink.shape());
  }
  return slice(options_.normalise(with_sink, visible), -1, 0, scores.size(-1));
}

AttentionOutput Attention::operator()(const Tensor& query, const PreparedKV& memory,
                                      ScoreState& state) const {
  check_heads(query, memory.keys);
  check_positions(query, memory.keys, state);
  // 1. Score: compare each query with each key.
  const ScoredPairs pairs = score_pairs(query, memory, state);
  // 2. Mask: select the visible pairs. Local attention keeps only those inside a window.
  const Window window =
      local_ ? (*local_)(pairs.query, pairs.scores, pairs.mask, state.step) : Window{pairs.mask};
  if (local_ && options_.strict) check_strict(visible_queries(window.mask), window.mask, "window");
  // 3. Normalise: turn scores into weights. In local-p, they decrease towards the edge of the window.
  const Tensor weights = window.fade(weights_of(pairs.scores, window.mask));
  // 4. Dropout.
  const Tensor used = dropout_(weights);
  // 5. Weighted sum of the values.
  Tensor context = zero_masked(pairs.live_queries, matmul(used, memory.values));
  if (positions_)
    if (const Tensor order = positions_->context(used); order.defined()) context = context + order;

  state.weights = weights;
  state.step += query.size(-2);
  WeightRecorder::notify(*this, weights, window.positions);
  return {context, weights, window.positions};
}

std::optional<AttendOptions> Attention::tiled_options(const Tensor& query, const PreparedKV& memory,
                                                      const ScoreState& state) const {
  const std::optional<double> factor = score_->dot_factor(query);
  const Size queries = query.size(-2), keys = memory.keys.size(-2);
  if (queries * keys < kMinTiledPairs || queries < kMinTiledQueries || !factor ||
      !options_.normalise.is_softmax() || local_ || WeightRecorder::watches(*this) ||
      (dropout_.training() && dropout_.rate() > 0))
    return {};
  AttendOptions options{.scale = factor};
  if (positions_) {
    std::optional<ScoreMod> order = positions_->as_score_mod(queries, keys);
    if (!order || (order->defined() && !state.positions.empty())) return {};
    options.score_mod = *std::move(order);
  }
  if (score_mod_) {
    if (options.score_mod.defined()) return {};  // tiles support only one
    options.score_mod = (*score_mod_)(queries, keys, memory.data);
  }
  options.mask = memory.mask;
  if (sink_.defined()) options.sink = tapestry::learned(sink_);
  return options;
}

Tensor Attention::context(const Tensor& query, const PreparedKV& memory, ScoreState& state) const {
  check_heads(query, memory.keys);
  check_positions(query, memory.keys, state);
  const std::optional<AttendOptions> options = tiled_options(query, memory, state);
  if (!options) return (*this)(query, memory, state).context;
  const Tensor rotated_query = rotated(query, memory.live_queries, state);
  state.step += query.size(-2);
  return attend(rotated_query, memory.keys, memory.values, *options);
}

AttentionOutput Attention::operator()(const Tensor& query, const PreparedKV& memory) const {
  ScoreState state;
  return (*this)(query, memory, state);
}

std::vector<Tensor> Attention::learned() const {
  return score_mod_ ? score_mod_->parameters() : std::vector<Tensor>{};
}

Tensor Attention::data_of(const Tensor& input) const {
  return score_mod_ ? score_mod_->data(input) : Tensor{};
}

}  // namespace tapestry
