// Padded batches of sentence pairs, in an order that is determined by a seed and can be resumed at any batch.
#include "lessons/kit/translation/batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {
namespace {

template <typename Container>
Size length(const Container& container) {
  return static_cast<Size>(container.size());
}

const Pair& pair_at(const std::vector<Pair>& pairs, Size index) {
  return pairs[static_cast<std::size_t>(index)];
}

std::vector<Size> all_indices(const std::vector<Pair>& pairs) {
  std::vector<Size> indices(pairs.size());
  std::iota(indices.begin(), indices.end(), Size{0});
  return indices;
}

Batch gather(const std::vector<Pair>& pairs, std::vector<Size> rows) {
  std::vector<Ids> sources, targets;
  for (const Size row : rows) {
    sources.push_back(pair_at(pairs, row).source);
    targets.push_back(pair_at(pairs, row).target);
  }
  return {pad(sources), pad(targets), std::move(rows)};
}

/// Cuts [begin, end) in order into batches of `size`, and splits a batch whose matrices would have too many positions.
template <typename Iterator>
void cut_into_batches(const std::vector<Pair>& pairs, Iterator begin, Iterator end, Size size,
                      std::vector<std::vector<Size>>& batches) {
  const Size most_places = kPlacesPerSentence * std::min(size, length(pairs));
  for (Size left = 0, columns = 0; begin != end; ++begin, --left) {
    const Pair& pair = pair_at(pairs, *begin);
    const Size own = std::max(length(pair.source), length(pair.target));
    const bool full = left > 0 && (length(batches.back()) + 1) * std::max(columns, own) > most_places;
    if (left == 0 || full) batches.emplace_back();
    if (left == 0) left = size;
    columns = batches.back().empty() ? own : std::max(columns, own);
    batches.back().push_back(*begin);
  }
}

/// Returns columns [from, from + whole.columns - 1) of every row, cut to `lengths` and padded.
Padded columns_from(const Padded& whole, Size from, const Ids& lengths) {
  Padded part{{}, lengths, whole.rows, std::max<Size>(whole.columns - 1, 0)};
  part.ids.assign(static_cast<std::size_t>(part.rows * part.columns), kPad);
  for (Size row = 0; row < part.rows; ++row) {
    for (Size column = 0; column < lengths[static_cast<std::size_t>(row)]; ++column) {
      part.ids[static_cast<std::size_t>(row * part.columns + column)] = whole.at(row, column + from);
    }
  }
  return part;
}

}  // namespace

Padded pad(const std::vector<Ids>& rows) {
  Padded padded;
  padded.rows = length(rows);
  for (const Ids& row : rows) {
    padded.lengths.push_back(length(row));
    padded.columns = std::max(padded.columns, length(row));
  }
  padded.ids.reserve(static_cast<std::size_t>(padded.rows * padded.columns));
  for (const Ids& row : rows) {
    padded.ids.insert(padded.ids.end(), row.begin(), row.end());
    padded.ids.insert(padded.ids.end(), static_cast<std::size_t>(padded.columns - length(row)), kPad);
  }
  return padded;
}

Forcing teacher_forcing(const Padded& target) {
  Ids lengths = target.lengths;
  for (std::int64_t& each : lengths) each = std::max<std::int64_t>(each - 1, 0);
  return {columns_from(target, 0, lengths), columns_from(target, 1, lengths),
          std::accumulate(lengths.begin(), lengths.end(), Size{0})};
}

Batches::Batches(std::vector<Pair> pairs, Settings settings) : pairs_(std::move(pairs)), settings_(settings) {
  if (pairs_.empty()) throw UsageError("batches must have at least one pair, got no sentence pairs");
  if (settings_.size < 1)
    throw UsageError(fmt::format("the batch size must be positive, got {}", settings_.size));
  if (settings_.pool < 1) throw UsageError(fmt::format("the pool must be positive, got {}", settings_.pool));
  arrange();
}

void Batches::arrange() {
  Random random(settings_.seed, static_cast<std::uint64_t>(place_.epoch));
  std::vector<Size> indices = all_indices(pairs_);
  random.shuffle(indices);
  order_.clear();
  // Limit the pool to the data. This also keeps the product from overflowing.
  const Size in_all = (length(pairs_) - 1) / settings_.size + 1;
  const Size pool = std::min(settings_.pool, in_all) * std::min(settings_.size, length(pairs_));
  for (Size first = 0; first < length(indices); first += pool) {
    const auto begin = indices.begin() + first;
    const auto end = indices.begin() + std::min(first + pool, length(indices));
    const auto lengths = [this](Size i) {
      return std::pair(pair_at(pairs_, i).target.size(), pair_at(pairs_, i).source.size());
    };
    std::stable_sort(begin, end, [&](Size a, Size b) { return lengths(a) < lengths(b); });
    cut_into_batches(pairs_, begin, end, settings_.size, order_);
  }
  random.shuffle(order_);
}

Batch rows_of(const Batch& batch, Size begin, Size end) {
  const auto part_of = [&](const Padded& all) {
    std::vector<Ids> rows;
    for (Size row = begin; row < end; ++row) {
      const auto first = all.ids.begin() + row * all.columns;
      rows.emplace_back(first, first + all.lengths[static_cast<std::size_t>(row)]);
    }
    return pad(rows);
  };
  return {part_of(batch.source), part_of(batch.target),
          std::vector<Size>(batch.pairs.begin() + begin, batch.pairs.begin() + end)};
}

Batch Batches::next() {
  Batch batch = gather(pairs_, order_[static_cast<std::size_t>(place_.index)]);
  if (++place_.index == length(order_)) {
    place_ = {place_.epoch + 1, 0};
    arrange();
  }
  return batch;
}

void Batches::go_to(Place place) {
  const Place before = place_;
  place_ = place;
  if (place.epoch >= 0) arrange();
  const Size batches = batches_in_epoch();
  if (place.epoch >= 0 && place.index >= 0 && place.index < batches) return;
  place_ = before;
  arrange();
  throw UsageError(
      fmt::format("batch {} of epoch {} does not exist: the epoch has {} batches; was the data changed?",
                  place.index, place.epoch, batches));
}

std::vector<Batch> batches_in_order(const std::vector<Pair>& pairs, Size size) {
  if (size < 1) throw UsageError(fmt::format("the batch size must be positive, got {}", size));
  std::vector<Size> indices = all_indices(pairs);
  std::stable_sort(indices.begin(), indices.end(), [&pairs](Size a, Size b) {
    return pair_at(pairs, a).source.size() < pair_at(pairs, b).source.size();
  });
  std::vector<std::vector<Size>> rows;
  cut_into_batches(pairs, indices.begin(), indices.end(), size, rows);
  std::vector<Batch> batches;
  for (std::vector<Size>& each : rows) batches.push_back(gather(pairs, std::move(each)));
  return batches;
}

std::vector<Pair> encode_pairs(const ParallelText& text, const Lexicon& source, const Lexicon& target) {
  std::vector<Pair> pairs;
  pairs.reserve(text.source.size());
  for (std::size_t i = 0; i < text.source.size(); ++i) {
    pairs.push_back({source.encode_source(text.source[i]), target.encode_target(text.target[i])});
  }
  return pairs;
}

}  // namespace tapestry::kit
