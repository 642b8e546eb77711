// Lesson 30's model and its two training tasks.
#include "lessons/30_memory/tasks.hpp"

#include <numeric>

namespace tapestry::lesson30 {
namespace {

using Ids = std::vector<std::int64_t>;

/// Collects the words and answers of texts of equal length.
struct TextBuilder {
  Ids names, symbols, answers;

  void add_word(std::int64_t name, std::int64_t symbol) { names.push_back(name), symbols.push_back(symbol); }
  void add_question(std::int64_t name, std::int64_t expected) {
    add_word(name, kQuestion), answers.push_back(expected);
  }
  Texts texts(Size batch) const {
    const auto of = [batch](const Ids& ids) {
      return Indices(ids, {batch, static_cast<Size>(ids.size()) / batch});
    };
    return {of(names), of(symbols), static_cast<Size>(answers.size()) / batch, of(answers)};
  }
};

Ids shuffled_names(kit::Random& random) {
  Ids all(kNames);
  std::iota(all.begin(), all.end(), 0);
  random.shuffle(all);
  return all;
}

/// Throws if `pairs` is not from 1 to `most`, or if `batch` is less than 1.
void check_sizes(Size batch, Size pairs, Size most) {
  if (batch < 1 || pairs < 1 || pairs > most)
    fail("[lesson 30] batch must be at least 1 and pairs from 1 to {} for {} names, got {} and {}", most,
         kNames, batch, pairs);
}

}  // namespace

Texts draw_updates(kit::Random random, Size batch, Size pairs) {
  constexpr Size kAssignmentsPerName = 4;
  check_sizes(batch, pairs, kNames);
  TextBuilder builder;
  for (Size row = 0; row < batch; ++row) {
    const Ids all = shuffled_names(random);
    Ids order, last(static_cast<std::size_t>(pairs));
    for (Size i = 0; i < kAssignmentsPerName * pairs; ++i)
      order.push_back(i < pairs ? i : random.below(pairs));
    random.shuffle(order);
    for (const std::int64_t i : order) {
      const auto which = static_cast<std::size_t>(i);
      builder.add_word(all[which], last[which] = random.below(kSymbols));
    }
    for (std::size_t i = 0; i < last.size(); ++i) builder.add_question(all[i], last[i]);
  }
  return builder.texts(batch);
}

Texts draw_sections(kit::Random random, Size batch, Size pairs) {
  constexpr Size kSections = 3;
  check_sizes(batch, pairs, kNames / kSections);
  TextBuilder builder;
  for (Size row = 0; row < batch; ++row) {
    const Ids all = shuffled_names(random);
    Ids last;
    for (Size section = 0; section < kSections; ++section) {
      if (section > 0) builder.add_word(kForget, 0);
      last.clear();
      for (Size i = 0; i < pairs; ++i) {
        last.push_back(random.below(kSymbols));
        builder.add_word(all[static_cast<std::size_t>(section * pairs + i)], last.back());
      }
    }
    const Size old = pairs * random.below(kSections - 1);
    for (Size i = 0; i < pairs; ++i) {
      builder.add_question(all[static_cast<std::size_t>((kSections - 1) * pairs + i)],
                           last[static_cast<std::size_t>(i)]);
      builder.add_question(all[static_cast<std::size_t>(old + i)], kNothing);
    }
  }
  return builder.texts(batch);
}

namespace {
constexpr Size kEmbedding = 32, kHidden = 64;
}

MemoryModel::MemoryModel(const LinearAttentionOptions& options)
    : names{{*this, "names"}, kNames + 1, kEmbedding},
      symbols{{*this, "symbols"}, kSymbols + 1, kEmbedding},
      memory{{*this, "memory"}, options},
      hidden{{*this, "hidden"}, kEmbedding, kHidden},
      answer{{*this, "answer"}, kHidden, kSymbols + 1} {}

Tensor MemoryModel::operator()(const Texts& texts) const {
  const Tensor read = memory(names(texts.names) + symbols(texts.symbols)).output;  // (B, T, width)
  const Size words = read.size(1);
  return answer(relu(hidden(slice(read, 1, words - texts.questions, words))));
}

}  // namespace tapestry::lesson30
