#include "lessons/26_programmable/gallery_maps.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/core.hpp"
#include "lessons/26_programmable/gallery.hpp"
#include "lessons/26_programmable/gallery_element.hpp"
#include "lessons/26_programmable/gallery_ops.hpp"
#include "lessons/kit/program/files.hpp"

namespace lesson26 {

using namespace tapestry;
using Json = nlohmann::ordered_json;
using Learned = std::vector<Tensor>;
using Numbers = std::vector<double>;

namespace {

constexpr Size kPlaces = 20;

constexpr double kUnit = 1e-4, kFine = 1e-6;  // units of weights, and of all other numbers

Size whole(double number) { return static_cast<Size>(std::lround(number)); }

/// Returns the values in multiples of `unit`, rounded, as a list of rows.
Json table(const Tensor& values, double unit) {
  const Size columns = values.size(-1);
  const std::vector<double> all = values.to_vector();
  Json rows = Json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % static_cast<std::size_t>(columns) == 0) rows.push_back(Json::array());
    rows.back().push_back(std::llround(all[i] / unit));
  }
  return rows;
}

/// Moves every number up by a third of its range, or down if there is no room.
Numbers others(const AdjustableMechanism& adjustable) {
  Numbers numbers;
  for (const AdjustableNumber& number : adjustable.numbers) {
    const double third =
        number.step * std::max(1.0, std::floor((number.most - number.least) / 3 / number.step));
    numbers.push_back(number.usual + third <= number.most ? number.usual + third : number.usual - third);
  }
  return numbers;
}

/// Queries and keys (1, heads, places, width).
struct Words {
  Tensor query, key;
};

Words random_words(std::uint64_t seed) {
  const Mechanism usual;
  const auto draw = [&](std::uint64_t stream) {
    return random_normal({1, usual.heads, kPlaces, usual.width}, 10 * seed + stream, DType::f64);
  };
  return {draw(1), draw(2)};
}

/// Returns random words: the same for all heads, or separate ones for each head.
Words words_for(const AdjustableMechanism& adjustable, std::uint64_t seed) {
  const Words all = random_words(seed);
  const auto first = [&](const Tensor& x) { return expand(slice(x, 1, 0, 1), x.shape()); };
  return adjustable.per_head_inputs ? all : Words{first(all.query), first(all.key)};
}

/// Returns words that carry no content. With BlankInputs::equal, all of them equal the first query.
Words blank_words(BlankInputs blank, const Words& words) {
  if (blank == BlankInputs::zeros) return {0 * words.query, 0 * words.key};
  const Tensor equal = expand(slice(words.query, 2, 0, 1), words.query.shape());
  return {equal, equal};
}

Json map_of(const Mechanism& mechanism, const Numbers& numbers, const Words& words, bool random, Size head,
            std::uint64_t seed) {
  const Tensor weights =
      kit::weights_of(mechanism, words.query, words.key, kit::first_values(mechanism, seed, DType::f64));
  return {{"numbers", numbers},
          {"random", random},
          {"head", head},
          {"weights", table(select(select(weights, 0, 0), 0, head), kUnit)}};
}

Json entry_of(const GalleryEntry& entry, std::uint64_t seed) {
  const Mechanism& usual = entry.mechanism;
  const auto& all = adjustable_mechanisms();
  const AdjustableMechanism& adjustable =
      *std::find_if(all.begin(), all.end(),
                    [&](const AdjustableMechanism& t) { return t.make(t.usual()).name == usual.name; });
  Json knobs = Json::array(), learned = Json::object(), maps = Json::array();
  const Learned first = kit::first_values(usual, seed, DType::f64);
  for (std::size_t i = 0; i < first.size(); ++i) learned[usual.learned[i].name] = table(first[i], kFine);
  for (const AdjustableNumber& number : adjustable.numbers)
    knobs.push_back({{"name", number.name},
                     {"least", number.least},
                     {"most", number.most},
                     {"step", number.step},
                     {"usual", number.usual}});
  const Words words = words_for(adjustable, seed);
  const Numbers turned = others(adjustable);
  maps.push_back(map_of(usual, adjustable.usual(), words, true, 0, seed));
  if (adjustable.blank != BlankInputs::none)
    maps.push_back(map_of(usual, adjustable.usual(), blank_words(adjustable.blank, words), false, 2, seed));
  if (!turned.empty()) maps.push_back(map_of(adjustable.make(turned), turned, words, true, 3, seed));
  return {{"name", usual.name},     {"level", entry.level}, {"does", entry.does},
          {"source", entry.source}, {"lines", entry.lines}, {"heads", usual.heads},
          {"knobs", knobs},         {"learned", learned},   {"maps", maps}};
}

}  // namespace

std::vector<double> AdjustableMechanism::usual() const {
  Numbers values;
  for (const AdjustableNumber& number : numbers) values.push_back(number.usual);
  return values;
}

const std::vector<AdjustableMechanism>& adjustable_mechanisms() {
  using N = const Numbers&;
  static const std::vector<AdjustableMechanism> all = {
      {{}, [](N) { return causal(); }},
      {{{"window", 1, 20, 1, 6}}, [](N n) { return sliding_window(whole(n[0])); }},
      {{{"step", 1, 10, 1, 3}}, [](N n) { return dilated(whole(n[0])); }},
      {{{"prompt", 0, 20, 1, 7}}, [](N n) { return prefix(whole(n[0])); }},
      {{{"one", 1, 10, 1, 5}, {"two", 1, 10, 1, 4}, {"three", 1, 10, 1, 7}},
       [](N n) { return documents(whole(n[0]), whole(n[1]), whole(n[2])); }},
      {{{"block", 1, 20, 1, 6}}, [](N n) { return block_diagonal(whole(n[0])); }},
      {{{"global", 1, 6, 1, 2}, {"reach", 0, 10, 1, 3}},
       [](N n) { return global_and_window(whole(n[0]), whole(n[1])); }},
      {{{"children", 1, 5, 1, 2}}, [](N n) { return tree(whole(n[0])); }},
      {{{"steepest", 0.05, 2, 0.05, 0.25}}, [](N n) { return alibi_bias(n[0]); }},
      {{{"farthest", 1, 8, 1, 8}}, [](N n) { return relative_bias(whole(n[0])); }},
      {{{"farthest", 16, 128, 16, 128}}, [](N n) { return buckets(n[0]); }},
      {{{"cap", 0.25, 8, 0.25, 2}}, [](N n) { return soft_cap(n[0]); }, BlankInputs::none},
      {{{"amount", 0, 4, 0.1, 1}, {"rate", 0.1, 4, 0.1, 1}}, [](N n) { return distance_decay(n[0], n[1]); }},
      {{{"t", 0.1, 3, 0.1, 0.5}}, [](N n) { return learned_temperature(n[0]); }, BlankInputs::none},
      {{{"open", -4, 8, 0.5, 0}}, [](N n) { return forgetting(n[0]); }},
      {{{"log₁₀ base", 0, 5, 0.25, 4}}, [](N n) { return rotary(std::pow(10, n[0])); }, BlankInputs::equal},
      {{{"gain", 0, 20, 0.5, 5}}, [](N n) { return cosine(n[0]); }, BlankInputs::none},
      {{{"gain", 0, 10, 0.25, 2}}, [](N n) { return normed_additive(n[0]); }, BlankInputs::none},
      {{{"spread", 0, 3, 0.1, 1}}, [](N n) { return coverage(n[0]); }, BlankInputs::none},
      {{{"deviation", 0.5, 10, 0.5, 2}}, [](N n) { return local_p(n[0]); }},
      {{{"λ", 0, 1, 0.05, 0.5}}, [](N n) { return differential(n[0]); }},
      {{{"mix", 0, 1, 0.05, 0.5}}, [](N n) { return talking_heads(n[0]); }, BlankInputs::none, true},
      {{{"factor", 0, 2, 0.1, 1}}, [](N n) { return selective(n[0]); }, BlankInputs::none, true},
      {{{"bias", -4, 4, 0.25, 0}}, [](N n) { return sigmoid_attention(n[0]); }},
      {{{"open", -4, 8, 0.5, 0}}, [](N n) { return output_gate(n[0]); }, BlankInputs::none},
      {{{"c", -4, 4, 0.25, 0}}, [](N n) { return sink(n[0]); }}};
  return all;
}

void save_gallery(const std::filesystem::path& file, std::uint64_t seed) {
  const auto by_head = [](const Tensor& x) {
    Json heads = Json::array();
    for (Size head = 0; head < x.size(1); ++head)
      heads.push_back(table(select(select(x, 0, 0), 0, head), kFine));
    return heads;
  };
  const Words words = random_words(seed);
  Json out = {{"places", kPlaces},
              {"unit", kUnit},
              {"fine", kFine},
              {"query", by_head(words.query)},
              {"key", by_head(words.key)}};
  for (const GalleryEntry& entry : gallery()) out["entries"].push_back(entry_of(entry, seed));
  kit::write_atomically(file, out.dump() + "\n");
}

}  // namespace lesson26
