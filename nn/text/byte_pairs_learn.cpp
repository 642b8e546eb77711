// Byte-pair encoding: learning merges, with pair counts that are updated after each merge.
#include <algorithm>
#include <cstddef>
#include <map>
#include <queue>
#include <utility>

#include "core/io/text.hpp"
#include "core/tensor/error.hpp"
#include "nn/text/byte_pairs.hpp"

namespace tapestry {

/// Stores each distinct word once with its count, and for each pair of neighbours its count and the words
/// that contain it. A merge changes only the words with its pair, and the counts of their pairs.
class BytePairLearner {
 public:
  BytePairLearner(const std::vector<Words>& sentences, BytePairs& result) : result_(result) {
    std::map<std::string_view, Size> counts;
    for (const Words& sentence : sentences)
      for (const std::string& word : sentence) ++counts[word];
    for (const auto& [word, count] : counts) {
      if (word.find(result_.marker()) != word.npos)
        fail("[byte pairs] words must not contain the marker '{1}', got '{0}'; choose another marker",
             printable(word), result_.marker());
      if (split_words(word) != Words{std::string(word)} || word.find('\0') != word.npos)
        fail("[byte pairs] words must be non-empty, without white space or NUL, got '{}'", printable(word));
      Entry entry{count, {}};
      for (const std::string& piece : marked_characters(word, result_.marked(), result_.marker()))
        entry.pieces.push_back(result_.number_of(piece));
      words_.push_back(std::move(entry));
    }
    for (std::size_t i = 0; i < words_.size(); ++i) count_pairs(i, 1);
  }

  void learn(Size merges, Size at_least) {
    while (result_.size() < merges) {
      const auto [left, right] = most_frequent(at_least);
      if (left < 0) return;
      const std::string left_text = piece(left), right_text = piece(right);
      // A pair can reappear if another merge also produces one of its pieces. Its merge is then already known.
      if (!result_.knows(left, right) && !result_.add(left_text, right_text))
        fail("[byte pairs] '{}' and '{}' cannot be merged", printable(left_text), printable(right_text));
      merge(left, right, result_.number_of(left_text + right_text));
    }
  }

 private:
  static constexpr std::int64_t kAny = -1;
  using PairOfPieces = std::pair<std::int64_t, std::int64_t>;
  struct Entry {
    Size count;
    std::vector<std::int64_t> pieces;
  };
  struct Counted {
    Size count = 0;
    std::vector<std::size_t> words;  // words that contain the pair, or did before a merge
  };
  struct Hash {
    std::size_t operator()(const PairOfPieces& pair) const {
      return std::hash<std::uint64_t>()((static_cast<std::uint64_t>(pair.first) << 32) ^
                                        static_cast<std::uint64_t>(pair.second));
    }
  };
  /// A pair with the count that it had when it was queued.
  struct Queued {
    Size count;
    PairOfPieces pair;
  };

  const std::string& piece(std::int64_t number) const {
    return result_.pieces_[static_cast<std::size_t>(number)];
  }

  bool comes_later(const Queued& a, const Queued& b) const {
    if (a.count != b.count) return a.count < b.count;
    if (a.pair.first != b.pair.first) return piece(a.pair.first) > piece(b.pair.first);
    return a.pair.second != b.pair.second && piece(a.pair.second) > piece(b.pair.second);
  }

  /// Adds `sign` · count of a word to the counts of its pairs. After a merge, only pairs with the `merged`
  /// piece can have grown, so only these are queued again.
  void count_pairs(std::size_t word, Size sign, std::int64_t merged = kAny) {
    const Entry& entry = words_[word];
    for (std::size_t i = 0; i + 1 < entry.pieces.size(); ++i) {
      const PairOfPieces pair{entry.pieces[i], entry.pieces[i + 1]};
      Counted& counted = pairs_[pair];
      counted.count += sign * entry.count;
      if (sign < 0 || (merged != kAny && pair.first != merged && pair.second != merged)) continue;
      if (counted.words.empty() || counted.words.back() != word) counted.words.push_back(word);
      changed_.push_back(pair);
    }
  }

  /// Returns the most frequent pair, or (−1, −1) if no pair occurs `at_least` times.
  PairOfPieces most_frequent(Size at_least) {
    const auto later = [this](const Queued& a, const Queued& b) { return comes_later(a, b); };
    for (const PairOfPieces& pair : changed_) {
      queue_.push_back({pairs_.at(pair).count, pair});
      std::push_heap(queue_.begin(), queue_.end(), later);
    }
    changed_.clear();
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), later);
      const Queued next = queue_.back();
      queue_.pop_back();
      const auto found = pairs_.find(next.pair);
      if (found == pairs_.end() || found->second.count < at_least) continue;
      if (found->second.count == next.count) return next.pair;
      // Queue a pair whose count fell with its current count. Pairs whose counts rose are already queued.
      if (found->second.count < next.count) {
        queue_.push_back({found->second.count, next.pair});
        std::push_heap(queue_.begin(), queue_.end(), later);
      }
    }
    return {-1, -1};
  }

  void merge(std::int64_t left, std::int64_t right, std::int64_t merged) {
    const std::vector<std::size_t> places = std::move(pairs_.at({left, right}).words);
    pairs_.at({left, right}).words.clear();
    for (const std::size_t word : places) {
      std::vector<std::int64_t>& pieces = words_[word].pieces;
      const auto has_pair = [&](std::size_t i) {
        return i + 1 < pieces.size() && pieces[i] == left && pieces[i + 1] == right;
      };
      std::size_t first = 0;
      while (first < pieces.size() && !has_pair(first)) ++first;
      if (first == pieces.size()) continue;
      count_pairs(word, -1);
      std::size_t to = first;
      for (std::size_t from = first; from < pieces.size(); ++to) {
        const bool here = has_pair(from);
        pieces[to] = here ? merged : pieces[from];
        from += here ? 2 : 1;
      }
      pieces.resize(to);
      count_pairs(word, 1, merged);
    }
    pairs_.erase({left, right});
  }

  BytePairs& result_;
  std::vector<Entry> words_;
  std::unordered_map<PairOfPieces, Counted, Hash> pairs_;
  std::vector<PairOfPieces> changed_;  // pairs that may have grown since the queue was last updated
  std::vector<Queued> queue_;          // heap, may contain outdated counts
};

BytePairs BytePairs::learn(const std::vector<Words>& sentences, const BytePairOptions& options) {
  if (options.merges < 0 || options.at_least < 1)
    fail("[byte pairs] merges must be at least 0 and at_least at least 1, got {} and {}", options.merges,
         options.at_least);
  BytePairs result(options.marked, options.marker);
  BytePairLearner(sentences, result).learn(options.merges, options.at_least);
  return result;
}

}  // namespace tapestry
