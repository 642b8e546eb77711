#include "nn/sample.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/ops/softmax.hpp"
#include "core/ops/views.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/random.hpp"

namespace tapestry {

void detail::check(const SamplingOptions& options, const char* name) {
  if (Tape::active()) fail("[{}] no tape may be active during sampling; end the tape's scope first", name);
  if (options.max_length < 1) fail("[{}] max_length must be at least 1, got {}", name, options.max_length);
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature))
    fail("[{}] temperature must be finite and at least 0, got {}", name, options.temperature);
  if (options.top_k < 0)
    fail("[{}] top_k must be at least 0 (0 draws from all words), got {}", name, options.top_k);
  if (!(options.top_p > 0 && options.top_p <= 1))
    fail("[{}] top_p must be above 0 and at most 1, got {}", name, options.top_p);
}

detail::Choices detail::choices(const std::vector<double>& log_probability, const SamplingOptions& options) {
  std::vector<std::size_t> order(log_probability.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto likelier = [&](std::size_t a, std::size_t b) {
    return log_probability[a] != log_probability[b] ? log_probability[a] > log_probability[b] : a < b;
  };
  if (options.temperature == 0 || options.top_k == 1)
    return {{*std::min_element(order.begin(), order.end(), likelier)}, {1}, 1};
  std::sort(order.begin(), order.end(), likelier);
  if (options.top_k > 0 && static_cast<std::size_t>(options.top_k) < order.size())
    order.resize(static_cast<std::size_t>(options.top_k));
  std::vector<double> weights;
  double total = 0;
  for (const std::size_t id : order) {
    weights.push_back(std::exp((log_probability[id] - log_probability[order[0]]) / options.temperature));
    total += weights.back();
  }
  double kept = 0;
  std::size_t count = 0;
  while (count < weights.size() && (count == 0 || kept < options.top_p * total)) kept += weights[count++];
  order.resize(count);
  weights.resize(count);
  return {std::move(order), std::move(weights), kept};
}

namespace {

/// Draws a token id, given log P of every token and a uniform random number in [0, 1).
std::int64_t draw(const std::vector<double>& log_probability, const SamplingOptions& options,
                  double uniform) {
  const detail::Choices from = detail::choices(log_probability, options);
  double left = uniform * from.total;
  for (std::size_t i = 0; i + 1 < from.ids.size(); ++i) {
    if (left < from.weights[i]) return static_cast<std::int64_t>(from.ids[i]);
    left -= from.weights[i];
  }
  return static_cast<std::int64_t>(from.ids.back());
}

}  // namespace

std::vector<Decoded> sample(AutoregressiveModel& model, const SamplingOptions& options) {
  detail::check(options, "sample");
  const Size sentences = model.rows();
  std::vector<Decoded> results(static_cast<std::size_t>(sentences));
  std::vector<std::size_t> unfinished(results.size());  // the sentence of each row
  std::iota(unfinished.begin(), unfinished.end(), std::size_t{0});
  std::vector<std::int64_t> last = detail::first_tokens(options.begin, options.first, sentences);

  for (Size t = 0; t < options.max_length && !unfinished.empty(); ++t) {
    const AutoregressiveModel::Step step = model.step(Indices(last, {static_cast<Size>(last.size())}));
    const Tensor log_probabilities = log_softmax(step.logits, -1);
    std::vector<std::size_t> next_unfinished;
    std::vector<Size> rows;
    last.clear();
    for (Size row = 0; row < static_cast<Size>(unfinished.size()); ++row) {
      const std::size_t sentence = unfinished[static_cast<std::size_t>(row)];
      const std::vector<double> of_row = select(log_probabilities, 0, row).to_vector();
      if (std::isnan(of_row[0]))
        fail("[sample] the logits must give valid probabilities, got NaN; check the model for NaN weights");
      const Stream stream(options.seed, hash_of("sample") + sentence);
      const std::int64_t id = draw(of_row, options, stream.uniform(static_cast<std::uint64_t>(t)));
      Decoded& result = results[sentence];
      result.log_probability += of_row[static_cast<std::size_t>(id)];
      result.score = result.log_probability;
      result.ended = id == options.end;
      if (result.ended) continue;
      result.ids.push_back(id);
      if (options.on_token) options.on_token(static_cast<Size>(sentence), id);
      if (step.alignment.defined()) result.alignment.push_back(select(step.alignment, 0, row).to_vector());
      next_unfinished.push_back(sentence);
      rows.push_back(row);
      last.push_back(id);
    }
    if (rows.size() < unfinished.size() && !rows.empty()) model.reorder_rows(rows);
    unfinished = std::move(next_unfinished);
  }
  return results;
}

}  // namespace tapestry
