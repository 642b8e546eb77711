// Reads a model from its files, and computes the vectors of texts.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/core.hpp"
#include "lessons/24_pretrained/lesson24.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/tensors.hpp"

namespace tapestry::lesson24 {

Reader read_model(const fs::path& folder, const ReadOptions& options) {
  const Sizes sizes = read_sizes(folder);  // config.json
  const SafeTensors file = read_safetensors(folder / "model.safetensors");
  // Check the number of layers before memory is allocated for them. load_state() compares the widths.
  if (sizes.layers > static_cast<Size>(file.tensors.size()))
    throw kit::UsageError(
        fmt::format("'{}' must have no more layers than model.safetensors has tensors ({}), got {}",
                    (folder / "config.json").string(), file.tensors.size(), sizes.layers));
  // The model was trained with at most this many ids per text. Longer texts are cut off.
  Reader reader{WordPiece::load(folder / "vocab.txt", {.max_length = read_longest(folder)}),
                std::make_unique<TransformerEncoder>(options.make(sizes))};
  if (reader.pieces.size() != sizes.vocabulary)
    throw kit::UsageError(
        fmt::format("'{}' must have as many pieces as the model; it has {}, and the model has {}",
                    (folder / "vocab.txt").string(), reader.pieces.size(), sizes.vocabulary));
  State weights;
  std::set<std::string> used;
  for (const auto& [name, unused] : reader.encoder->state()) {
    weights.emplace(name, file.at(options.name(name)));
    used.insert(options.name(name));
  }
  reader.encoder->load_state(weights);  // throws if a shape does not fit
  reader.encoder->eval();
  Words left;
  for (const auto& [name, unused] : file.tensors)
    if (used.count(name) == 0) left.push_back(name);
  reader.summary =
      fmt::format("  {} tensors read, {} numbers; {} layers of {} heads, width {}, {} pieces\n", used.size(),
                  kit::weights_of(*reader.encoder), sizes.layers, sizes.heads, sizes.width, sizes.vocabulary);
  if (!left.empty()) reader.summary += fmt::format("  in the file, but not needed: {}\n", join_words(left));
  return reader;
}

Tensor embed(const TransformerEncoder& encoder, const std::vector<Ids>& rows) {
  const kit::Padded padded = kit::pad(rows);
  const ValidLengths lengths = kit::valid_lengths(padded);
  const Tensor means = mean_over_time(encoder(kit::indices(padded), lengths), lengths);
  return means / sqrt(sum(means * means, {-1}, Keep::yes));
}

Tensor embed_all(const TransformerEncoder& encoder, const std::vector<Ids>& rows) {
  constexpr std::size_t kBatch = 32;
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a].size() < rows[b].size(); });
  std::vector<Tensor> batches;
  for (std::size_t first = 0; first < order.size(); first += kBatch) {
    std::vector<Ids> batch;
    for (std::size_t i = first; i < std::min(order.size(), first + kBatch); ++i)
      batch.push_back(rows[order[i]]);
    batches.push_back(embed(encoder, batch));
  }
  Ids back(order.size());  // the position of each row in the batches
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<std::int64_t>(i);
  return embedding(concat(batches, 0), Indices(back, {static_cast<Size>(back.size())}));
}

void embed_lines(const fs::path& folder, const kit::FileToEmbed& file) {
  if (!fs::exists(folder / "vocab.txt"))
    throw kit::UsageError(
        fmt::format("there is no model in {}: run the lesson without --embed-file first, or give --weights",
                    folder.string()));
  const Reader reader = read_model(folder);
  kit::embed_file(
      reader.pieces, [&](const std::vector<Ids>& rows) { return embed_all(*reader.encoder, rows); }, file);
}

}  // namespace tapestry::lesson24
