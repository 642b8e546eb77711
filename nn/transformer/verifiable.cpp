#include "nn/transformer/verifiable.hpp"

#include <numeric>

#include "core/ops/views.hpp"

namespace tapestry {

namespace {

/// Returns the mask (T, length) of the last T tokens: each sees itself and its ancestors.
Mask tree_mask(const std::vector<Size>& parents, Size queries) {
  const auto length = static_cast<Size>(parents.size()), first = length - queries;
  std::vector<char> sees(static_cast<std::size_t>(queries * length), 0);
  for (Size i = 0; i < queries; ++i)
    for (Size token = first + i; token >= 0; token = parents[static_cast<std::size_t>(token)])
      sees[static_cast<std::size_t>(i * length + token)] = 1;
  return Mask::from(queries, length,
                    [&](Size i, Size j) { return sees[static_cast<std::size_t>(i * length + j)] != 0; });
}

}  // namespace

VerifiableLanguageModel::VerifiableLanguageModel(const LanguageModel& model, Size capacity)
    : model_(model), cache_(model.cache(capacity)) {
  model.require_eval("language model");
}

Tensor VerifiableLanguageModel::extend(const std::vector<std::int64_t>& tokens,
                                       const std::vector<Size>& parents) {
  if (tokens.empty() || tokens.size() != parents.size())
    fail("[verifiable] there must be at least one word, and one parent for each, got {} words and {} parents",
         tokens.size(), parents.size());
  std::vector<Size> all = parents_, depths = depths_;
  bool chain = true;  // of all tokens
  for (const Size parent : parents) {
    const auto position = static_cast<Size>(all.size());
    if (parent < -1 || parent >= position)
      fail("[verifiable] a parent must be −1 or come before its child, got parent {} of position {}", parent,
           position);
    all.push_back(parent);
    depths.push_back(parent < 0 ? 0 : depths[static_cast<std::size_t>(parent)] + 1);
  }
  // Every depth equals its index if and only if each token follows the one before.
  for (std::size_t i = 0; i < depths.size(); ++i) chain = chain && depths[i] == static_cast<Size>(i);
  const auto count = static_cast<Size>(tokens.size());
  const Indices ids(tokens, {1, count});
  const Size before = length();
  Tensor logits;
  try {
    logits = chain ? model_(ids, cache_) : model_(ids, cache_, tree_mask(all, count), depths);
  } catch (...) {
    cache_.keep_positions(before, {});  // a block may have stored the tokens before another threw
    throw;
  }
  parents_ = std::move(all);
  depths_ = std::move(depths);
  return squeeze(logits, 0);
}

void VerifiableLanguageModel::keep(Size length, const std::vector<Size>& path) {
  const auto position = [&](Size i) { return i < length ? i : path[static_cast<std::size_t>(i - length)]; };
  const Size kept = length + static_cast<Size>(path.size());
  Size last = -1;
  for (Size i = 0; i < kept; ++i) {
    const Size next = position(i);
    if (next < 0 || next >= this->length() || parents_[static_cast<std::size_t>(next)] != last)
      fail("[verifiable] the kept words must form one text, got position {} after {}, among {} positions",
           next, last, this->length());
    last = next;
  }
  cache_.keep_positions(length, path);
  parents_.resize(static_cast<std::size_t>(kept));
  depths_.resize(parents_.size());
  std::iota(parents_.begin(), parents_.end(), -1);
  std::iota(depths_.begin(), depths_.end(), 0);
}

}  // namespace tapestry
