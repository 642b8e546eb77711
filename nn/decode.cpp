#include "nn/decode.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "core/ops/reduce.hpp"
#include "core/ops/softmax.hpp"
#include "core/ops/views.hpp"
#include "core/tape/tape.hpp"

namespace tapestry {

namespace {

constexpr Size kNone = -1;

/// A generated token, linked to the previous token of its hypothesis.
struct Token {
  Size before;  // index of the previous token, or kNone
  std::int64_t id;
  Tensor alignment;  // of the step that generated it
  Size row;          // row in that step
};

/// An unfinished hypothesis. Hypothesis i is row i of the model.
struct Hypothesis {
  Size sentence;
  Size last = kNone;  // its last token
  double log_probability = 0;
};

struct Candidate {
  Size row;
  std::int64_t id;
  double log_probability;  // of the whole hypothesis

  /// Sorts the likeliest first. The tie-break by row, then by id, makes the order deterministic.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
    return a.row != b.row ? a.row < b.row : a.id < b.id;
  }
};

double length_penalty(Size tokens, double power) {
  return std::pow((5 + static_cast<double>(tokens)) / 6, power);
}

void check(const SearchOptions& options, const char* name) {
  if (Tape::active()) fail("[{}] no tape may be active during a search; end the tape's scope first", name);
  if (options.max_length < 1 || options.beam < 1)
    fail("[{}] max_length and beam must be at least 1, got {} and {}", name, options.max_length,
         options.beam);
}

/// Returns log P of the next token, (rows, vocabulary), contiguous.
Tensor next_log_probabilities(const AutoregressiveModel::Step& step) {
  return contiguous(log_softmax(step.logits, -1));
}

Indices last_tokens(const std::vector<std::int64_t>& ids) {
  return Indices(ids, {static_cast<Size>(ids.size())});
}

[[noreturn]] void fail_with_nan(const char* name, Size sentence) {
  fail(
      "[{}] the logits of sentence {} must give valid probabilities, got NaN; check the model for NaN weights",
      name, sentence);
}

/// Collects the tokens of a hypothesis, following the links back from `last`.
Decoded to_decoded(const std::vector<Token>& tokens, Size last, double log_probability, bool ended,
                   const SearchOptions& options) {
  Decoded result;
  Size length = 0;
  for (Size at = last; at != kNone; at = tokens[static_cast<std::size_t>(at)].before) {
    const Token& token = tokens[static_cast<std::size_t>(at)];
    ++length;
    if (ended && at == last) continue;  // the end itself
    result.ids.push_back(token.id);
    if (token.alignment.defined())
      result.alignment.push_back(select(token.alignment, 0, token.row).to_vector());
  }
  std::reverse(result.ids.begin(), result.ids.end());
  std::reverse(result.alignment.begin(), result.alignment.end());
  result.log_probability = log_probability;
  result.score = log_probability / length_penalty(length, options.length_power);
  result.ended = ended;
  return result;
}

/// Returns the `count` likeliest continuations of one row, best first.
std::vector<Candidate> best_of_row(const Tensor& log_probabilities, Size row, double so_far, Size count) {
  const Size vocabulary = log_probabilities.size(1);
  std::vector<Candidate> best;
  dispatch(log_probabilities.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* values = log_probabilities.data<T>() + row * vocabulary;
    auto least = -std::numeric_limits<double>::infinity();
    for (Size id = 0; id < vocabulary; ++id) {
      const auto value = static_cast<double>(values[id]);
      if (!(value > least)) continue;
      const Candidate found{row, id, so_far + value};
      best.insert(std::upper_bound(best.begin(), best.end(), found), found);
      if (static_cast<Size>(best.size()) > count) best.pop_back();
      if (static_cast<Size>(best.size()) == count) least = best.back().log_probability - so_far;
    }
  });
  return best;
}

/// Finished hypotheses of one sentence: their number and the best one.
struct Ended {
  Size count = 0;
  std::optional<Decoded> best;

  void add(Decoded found) {
    ++count;
    if (!best || found.score > best->score) best = std::move(found);
  }
};

}  // namespace

std::vector<std::int64_t> detail::first_tokens(std::int64_t begin, const std::vector<std::int64_t>& first,
                                               Size rows) {
  if (first.empty()) return std::vector<std::int64_t>(static_cast<std::size_t>(rows), begin);
  if (static_cast<Size>(first.size()) != rows)
    fail("[decode] first must have one word for each of {1} rows, got {0}", first.size(), rows);
  return first;
}

std::vector<Decoded> greedy(AutoregressiveModel& model, const SearchOptions& options) {
  check(options, "greedy");
  const Size sentences = model.rows();
  std::vector<Token> tokens;
  std::vector<Hypothesis> unfinished;
  for (Size i = 0; i < sentences; ++i) unfinished.push_back({i});
  std::vector<Decoded> results(static_cast<std::size_t>(sentences));
  std::vector<std::int64_t> last = detail::first_tokens(options.begin, options.first, sentences);

  for (Size t = 0; t < options.max_length && !unfinished.empty(); ++t) {
    const AutoregressiveModel::Step step = model.step(last_tokens(last));
    const Tensor log_probabilities = next_log_probabilities(step);
    const std::vector<std::int64_t> likeliest = argmax(log_probabilities).to_vector();
    std::vector<Hypothesis> next_unfinished;
    std::vector<Size> rows;
    last.clear();
    for (Size row = 0; row < static_cast<Size>(unfinished.size()); ++row) {
      Hypothesis hypothesis = unfinished[static_cast<std::size_t>(row)];
      const std::int64_t id = likeliest[static_cast<std::size_t>(row)];
      const double log_probability = log_probabilities.at({row, id});
      if (std::isnan(log_probability)) fail_with_nan("greedy", hypothesis.sentence);
      tokens.push_back({hypothesis.last, id, step.alignment, row});
      hypothesis.last = static_cast<Size>(tokens.size()) - 1;
      hypothesis.log_probability += log_probability;
      if (id == options.end || t + 1 == options.max_length) {
        results[static_cast<std::size_t>(hypothesis.sentence)] =
            to_decoded(tokens, hypothesis.last, hypothesis.log_probability, id == options.end, options);
      } else {
        next_unfinished.push_back(hypothesis);
        rows.push_back(row);
        last.push_back(id);
      }
    }
    if (rows.size() < unfinished.size() && !rows.empty()) model.reorder_rows(rows);
    unfinished = std::move(next_unfinished);
  }
  return results;
}

std::vector<Decoded> beam_search(AutoregressiveModel& model, const SearchOptions& options) {
  check(options, "beam_search");
  const Size sentences = model.rows();
  const double most_lenient = length_penalty(options.max_length, options.length_power);
  std::vector<Token> tokens;
  std::vector<Hypothesis> unfinished;  // grouped by sentence, the likeliest first
  for (Size i = 0; i < sentences; ++i) unfinished.push_back({i});
  std::vector<Ended> ended(static_cast<std::size_t>(sentences));
  std::vector<std::int64_t> last = detail::first_tokens(options.begin, options.first, sentences);

  for (Size t = 0; t < options.max_length && !unfinished.empty(); ++t) {
    const AutoregressiveModel::Step step = model.step(last_tokens(last));
    const Tensor log_probabilities = next_log_probabilities(step);
    std::vector<Hypothesis> next_unfinished;
    std::vector<Size> rows;
    last.clear();

    for (std::size_t first = 0, next = 0; first < unfinished.size(); first = next) {
      const Size sentence = unfinished[first].sentence;
      // Take 2 · beam candidates, so that the beam stays full even if half of them end.
      std::vector<Candidate> candidates;
      for (; next < unfinished.size() && unfinished[next].sentence == sentence; ++next) {
        const auto best = best_of_row(log_probabilities, static_cast<Size>(next),
                                      unfinished[next].log_probability, 2 * options.beam);
        candidates.insert(candidates.end(), best.begin(), best.end());
      }
      std::sort(candidates.begin(), candidates.end());
      if (candidates.empty()) fail_with_nan("beam_search", sentence);

      Ended& done = ended[static_cast<std::size_t>(sentence)];
      std::vector<Hypothesis> kept;
      std::vector<Size> kept_rows;
      std::vector<std::int64_t> kept_tokens;
      for (Size rank = 0; rank < static_cast<Size>(candidates.size()); ++rank) {
        const Candidate& candidate = candidates[static_cast<std::size_t>(rank)];
        const bool ends = candidate.id == options.end;
        if (ends && rank >= options.beam) continue;
        tokens.push_back({unfinished[static_cast<std::size_t>(candidate.row)].last, candidate.id,
                          step.alignment, candidate.row});
        const Size at = static_cast<Size>(tokens.size()) - 1;
        if (ends) {
          done.add(to_decoded(tokens, at, candidate.log_probability, true, options));
        } else {
          kept.push_back({sentence, at, candidate.log_probability});
          kept_rows.push_back(candidate.row);
          kept_tokens.push_back(candidate.id);
        }
        if (static_cast<Size>(kept.size()) == options.beam) break;
      }
      if (t + 1 == options.max_length && !done.best && !kept.empty())
        done.add(to_decoded(tokens, kept[0].last, kept[0].log_probability, false, options));
      if (kept.empty()) continue;
      // Compare the best unfinished hypothesis with the best finished one: at its current length once `beam`
      // hypotheses have finished, before that with the most favourable length penalty.
      const double divisor =
          done.count >= options.beam ? length_penalty(t + 1, options.length_power) : most_lenient;
      if (done.best && kept[0].log_probability / divisor <= done.best->score) continue;
      next_unfinished.insert(next_unfinished.end(), kept.begin(), kept.end());
      rows.insert(rows.end(), kept_rows.begin(), kept_rows.end());
      last.insert(last.end(), kept_tokens.begin(), kept_tokens.end());
    }

    std::vector<Size> same(unfinished.size());
    std::iota(same.begin(), same.end(), Size{0});
    if (!rows.empty() && rows != same) model.reorder_rows(rows);
    unfinished = std::move(next_unfinished);
  }
  std::vector<Decoded> results;
  for (Ended& sentence : ended) results.push_back(std::move(*sentence.best));
  return results;
}

}  // namespace tapestry
