#include "nn/speculative.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/ops/softmax.hpp"
#include "core/ops/views.hpp"

namespace tapestry {

namespace {

using TokenIds = std::vector<std::int64_t>;
using Probabilities = std::vector<double>;

std::size_t at(Size i) { return static_cast<std::size_t>(i); }
Size size_of(const TokenIds& tokens) { return static_cast<Size>(tokens.size()); }

/// log P of the next token after each token of a pass.
std::vector<Probabilities> log_probabilities(const Tensor& logits) {
  // The same op as in greedy(), so that both have the same rounding errors.
  const Tensor values = log_softmax(logits, -1);
  std::vector<Probabilities> rows;
  for (Size row = 0; row < values.size(0); ++row) {
    rows.push_back(select(values, 0, row).to_vector());
    if (std::isnan(rows.back().front()))
      fail("[speculate] the logits must give valid probabilities, got NaN; check the model for NaN weights");
  }
  return rows;
}

/// Returns P of every token after temperature, top_k and top_p.
Probabilities distribution(const Probabilities& log_probability, const SamplingOptions& options) {
  const detail::Choices from = detail::choices(log_probability, options);
  Probabilities p(log_probability.size(), 0);
  for (std::size_t i = 0; i < from.ids.size(); ++i) p[from.ids[i]] = from.weights[i] / from.total;
  return p;
}

/// Draws a token from probabilities, which need not be normalised.
std::int64_t draw(const Probabilities& p, double uniform) {
  double left = uniform * std::accumulate(p.begin(), p.end(), 0.0);
  std::size_t last = 0;
  for (std::size_t id = 0; id < p.size(); ++id) {
    if (p[id] <= 0) continue;
    last = id;
    if (left < p[id]) break;
    left -= p[id];
  }
  return static_cast<std::int64_t>(last);
}

/// Accepts `token` with probability min(1, p / q). Otherwise replaces p by the normalised residual max(0, p − q). An
/// empty q means that the token was not drawn at random: q is 1 at the token and 0 elsewhere.
bool accept(Probabilities& p, const Probabilities& q, std::int64_t token, double uniform) {
  if (!q.empty() && q.size() != p.size())
    fail("[speculate] the draft must have the target's vocabulary, got {} and {} words", q.size(), p.size());
  if (token < 0 || token >= static_cast<std::int64_t>(p.size()))
    fail("[speculate] a drafted word must be in the target's vocabulary of {1} words, got {0}", token,
         p.size());
  const double guess = q.empty() ? 1 : q[at(token)];
  if (uniform * guess < p[at(token)]) return true;
  Probabilities residual = p;
  if (q.empty())
    residual[at(token)] = 0;
  else
    for (std::size_t id = 0; id < p.size(); ++id) residual[id] = std::max(0.0, p[id] - q[id]);
  const double total = std::accumulate(residual.begin(), residual.end(), 0.0);
  // If p and q are equal, rounding can make the residual 0. Then p is the distribution to draw from.
  if (total <= 0) return false;
  for (std::size_t id = 0; id < p.size(); ++id) p[id] = residual[id] / total;
  return false;
}

/// Parents of `count` tokens in a row, the first after position `before`.
std::vector<Size> chain(Size before, Size count) {
  std::vector<Size> parents(at(count));
  std::iota(parents.begin(), parents.end(), before);
  return parents;
}

}  // namespace

ModelDraft::ModelDraft(VerifiableModel& model, const std::vector<Size>& branches)
    : model_(model), branches_(branches) {
  for (const Size count : branches)
    if (count < 1) fail("[model_draft] branches must be at least 1, got {}", count);
  if (model.length() != 0)
    fail("[model_draft] the model must be empty, got {} words; begin a new one", model.length());
}

void ModelDraft::keep_prefix_of(const TokenIds& text) {
  // The last token of the text is read again: its logits are needed.
  Size length = 0, last = -1;
  std::vector<Size> path;
  for (Size position = 0;
       position < size_of(tokens_) && length + static_cast<Size>(path.size()) + 1 < size_of(text);
       ++position) {
    const Size depth = length + static_cast<Size>(path.size());
    if (parents_[at(position)] != last || tokens_[at(position)] != text[at(depth)]) continue;
    if (path.empty() && position == length)
      ++length;
    else
      path.push_back(position);
    last = position;
  }
  model_.keep(length, path);
  const Size kept = length + static_cast<Size>(path.size());
  tokens_.assign(text.begin(), text.begin() + kept);
  parents_ = chain(-1, kept);
}

Proposal ModelDraft::propose(const TokenIds& text, Size depth, const SamplingOptions& options,
                             UniformDraws& draws) {
  Proposal proposal;
  depth = std::min(depth, static_cast<Size>(branches_.size()));
  if (depth == 0) return proposal;
  keep_prefix_of(text);
  const auto read = [&](const TokenIds& tokens, const std::vector<Size>& parents) {
    const auto result = log_probabilities(model_.extend(tokens, parents));
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    parents_.insert(parents_.end(), parents.begin(), parents.end());
    return result;
  };
  const Size kept = size_of(tokens_);
  std::vector<Probabilities> rows =
      read(TokenIds(text.begin() + kept, text.end()), chain(kept - 1, size_of(text) - kept));
  rows.erase(rows.begin(), rows.end() - 1);
  std::vector<Size> level{-1};  // index in the proposal of each row; −1: the last token of the text
  for (Size d = 0; d < depth; ++d) {
    std::vector<Size> next_level, positions;
    TokenIds next_tokens;
    for (std::size_t row = 0; row < level.size(); ++row) {
      const Probabilities q = distribution(rows[row], options);
      for (Size branch = 0; branch < branches_[at(d)]; ++branch) {
        next_level.push_back(size_of(proposal.tokens));
        positions.push_back(size_of(text) + level[row]);
        next_tokens.push_back(draw(q, draws()));
        proposal.tokens.push_back(next_tokens.back());
        proposal.parents.push_back(level[row]);
        proposal.drawn_from.push_back(q);
      }
    }
    if (d + 1 < depth) rows = read(next_tokens, positions);
    level = std::move(next_level);
  }
  return proposal;
}

PromptLookup::PromptLookup(Size longest, Size count) : longest_(longest), count_(count) {
  if (longest < 1 || count < 0)
    fail("[prompt_lookup] longest must be at least 1 and count at least 0, got {} and {}", longest, count);
}

Proposal PromptLookup::propose(const TokenIds& text, Size depth, const SamplingOptions&, UniformDraws&) {
  const Size length = size_of(text), count = std::min(depth, count_);
  for (Size n = std::min(longest_, length - 1); n >= 1 && count > 0; --n)
    for (Size end = length - 1; end >= n; --end) {
      if (!std::equal(text.end() - n, text.end(), text.begin() + (end - n))) continue;
      const Size found = std::min(count, length - end);
      return {TokenIds(text.begin() + end, text.begin() + end + found), chain(-1, found),
              std::vector<Probabilities>(at(found))};
    }
  return {};
}

double SpeculationStatistics::acceptance() const {
  return judged == 0 ? 0 : static_cast<double>(accepted) / static_cast<double>(judged);
}

double SpeculationStatistics::tokens_per_pass() const {
  return passes == 0 ? 0 : static_cast<double>(generated) / static_cast<double>(passes);
}

Speculated speculate(VerifiableModel& target, Draft& draft, const TokenIds& prompt,
                     const SamplingOptions& options) {
  detail::check(options, "speculate");
  if (prompt.empty()) fail("[speculate] prompt must have at least one word, got none");
  if (!options.first.empty())
    fail(
        "[speculate] first must be empty, since one text is generated at a time, got {} words; pass a prompt",
        options.first.size());
  if (target.length() >= size_of(prompt))
    fail("[speculate] the target must have read fewer words than the prompt's {1}, got {0}", target.length(),
         prompt.size());
  Speculated result;
  SpeculationStatistics& counts = result.statistics;
  UniformDraws draws{Stream(options.seed, hash_of("speculate"))};
  TokenIds text = prompt;

  while (!result.text.ended && counts.generated < options.max_length) {
    // The target adds one token to the accepted ones, so the draft may have one token fewer than are left.
    const Proposal guess = draft.propose(text, options.max_length - counts.generated - 1, options, draws);
    counts.drafted += size_of(guess.tokens);
    const Size read = target.length(), fresh = size_of(text) - read;
    TokenIds tokens(text.begin() + read, text.end());
    std::vector<Size> parents = chain(read - 1, fresh);
    tokens.insert(tokens.end(), guess.tokens.begin(), guess.tokens.end());
    for (const Size parent : guess.parents) parents.push_back(size_of(text) + parent);
    const Size kept = size_of(text);
    const std::vector<Probabilities> rows = log_probabilities(target.extend(tokens, parents));
    ++counts.passes;

    std::vector<Size> path;
    Size node = -1;  // in the proposal; −1: the last token of the text
    const auto write = [&](std::int64_t token) {
      const double log_probability = rows[at(fresh + node)][at(token)];
      result.text.log_probability += log_probability;
      ++counts.generated;
      text.push_back(token);
      result.text.ended = token == options.end;
      if (result.text.ended) return;
      result.text.ids.push_back(token);
      if (options.on_token) options.on_token(0, token);
    };
    for (bool accepted = true; accepted && !result.text.ended && counts.generated < options.max_length;) {
      Probabilities p = distribution(rows[at(fresh + node)], options);
      accepted = false;
      for (Size child = node + 1; child < size_of(guess.tokens) && !accepted; ++child) {
        if (guess.parents[at(child)] != node) continue;
        ++counts.judged;
        if (!accept(p, guess.drawn_from[at(child)], guess.tokens[at(child)], draws())) continue;
        ++counts.accepted;
        write(guess.tokens[at(child)]);
        path.push_back(kept + child);
        node = child;
        accepted = true;
      }
      if (!accepted) write(draw(p, draws()));
    }
    target.keep(kept, path);
  }
  result.text.score = result.text.log_probability;
  return result;
}

double expected_tokens_per_pass(double acceptance, Size drafted) {
  if (!(acceptance >= 0 && acceptance <= 1) || drafted < 0)
    fail("[speculate] acceptance must be in [0, 1] and drafted at least 0, got {} and {}", acceptance,
         drafted);
  // The sum 1 + α + … + α^k has no division by 0 at α = 1.
  double sum = 0, power = 1;
  for (Size i = 0; i <= drafted; ++i, power *= acceptance) sum += power;
  return sum;
}

}  // namespace tapestry
