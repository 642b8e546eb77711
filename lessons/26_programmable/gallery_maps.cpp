#include "lessons/26_programmable/gallery_maps.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/core.hpp"
#include "lessons/26_programmable/gallery.hpp"
#include "lessons/26_programmable/gallery_element.hpp"
#include "lessons/kit/program/files.hpp"

namespace lesson26 {

using namespace tapestry;
using Json = nlohmann::ordered_json;
using Learned = std::vector<Tensor>;
using Numbers = std::vector<double>;

namespace {

constexpr Size kPlaces = 20;

constexpr double kUnit = 1e-4;

Size whole(double number) { return static_cast<Size>(std::lround(number)); }

/// In kUnit, rounded; a list of rows.
Json table(const Tensor& values) {
  const Size columns = values.size(-1);
  const std::vector<double> all = values.to_vector();
  Json rows = Json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % static_cast<std::size_t>(columns) == 0) rows.push_back(Json::array());
    rows.back().push_back(std::llround(all[i] / kUnit));
  }
  return rows;
}

/// All another third of their range up, or down where there is no room.
Numbers others(const Turnable& turnable) {
  Numbers numbers;
  for (const Knob& knob : turnable.knobs) {
    const double third = knob.step * std::max(1.0, std::floor((knob.most - knob.least) / 3 / knob.step));
    numbers.push_back(knob.usual + third <= knob.most ? knob.usual + third : knob.usual - third);
  }
  return numbers;
}

/// Queries and keys (1, heads, places, width): all heads have the first one's.
struct Words {
  Tensor query, key;
};

Words random_words(const Mechanism& mechanism, std::uint64_t seed) {
  const auto draw = [&](std::uint64_t stream) {
    return expand(random_normal({1, 1, kPlaces, mechanism.width}, 10 * seed + stream, DType::f64),
                  {1, mechanism.heads, kPlaces, mechanism.width});
  };
  return {draw(1), draw(2)};
}

Json map_of(const Mechanism& mechanism, const Numbers& numbers, const Words& words, bool random, Size head,
            std::uint64_t seed) {
  const double share = random ? 1 : 0;
  const Tensor weights = kit::weights_of(mechanism, share * words.query, share * words.key,
                                         kit::first_values(mechanism, seed, DType::f64));
  return {{"numbers", numbers},
          {"random", random},
          {"head", head},
          {"weights", table(select(select(weights, 0, 0), 0, head))}};
}

Json entry_of(const GalleryEntry& entry, std::uint64_t seed) {
  const Mechanism& usual = entry.mechanism;
  Json knobs = Json::array(), learned = Json::object(), maps = Json::array();
  const Learned first = kit::first_values(usual, seed, DType::f64);
  for (std::size_t i = 0; i < first.size(); ++i) learned[usual.learned[i].name] = table(first[i]);
  const Words words = random_words(usual, seed);
  const auto& all = turnables();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Turnable& t) { return t.make(t.usual()).name == usual.name; });
  if (found == all.end()) {
    maps.push_back(map_of(usual, {}, words, true, 0, seed));
  } else {
    for (const Knob& knob : found->knobs)
      knobs.push_back({{"name", knob.name},
                       {"least", knob.least},
                       {"most", knob.most},
                       {"step", knob.step},
                       {"usual", knob.usual}});
    const Numbers turned = others(*found);
    maps.push_back(map_of(usual, found->usual(), words, true, 0, seed));
    maps.push_back(map_of(usual, found->usual(), words, false, 2, seed));
    if (!turned.empty()) maps.push_back(map_of(found->make(turned), turned, words, true, 3, seed));
  }
  return {{"name", usual.name},   {"level", entry.level},
          {"does", entry.does},   {"source", entry.source},
          {"lines", entry.lines}, {"computed", found != all.end()},
          {"heads", usual.heads}, {"knobs", knobs},
          {"learned", learned},   {"maps", maps}};
}

}  // namespace

std::vector<double> Turnable::usual() const {
  Numbers numbers;
  for (const Knob& knob : knobs) numbers.push_back(knob.usual);
  return numbers;
}

const std::vector<Turnable>& turnables() {
  using N = const Numbers&;
  static const std::vector<Turnable> all = {
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
      {{}, [](N) { return buckets(); }},
      {{{"cap", 0.25, 8, 0.25, 2}}, [](N n) { return soft_cap(n[0]); }},
      {{{"amount", 0, 4, 0.1, 1}, {"rate", 0.1, 4, 0.1, 1}}, [](N n) { return distance_decay(n[0], n[1]); }},
      {{{"t", 0.1, 3, 0.1, 0.5}}, [](N n) { return learned_temperature(n[0]); }},
      {{}, [](N) { return forgetting(); }},
      {{}, [](N) { return sink(); }}};
  return all;
}

void save_gallery(const std::filesystem::path& file, std::uint64_t seed) {
  const Words words = random_words(Mechanism{}, seed);
  const Tensor scores = matmul(select(words.query, 1, 0), transpose(select(words.key, 1, 0)));
  const auto width = static_cast<double>(words.query.size(-1));
  Json out = {
      {"places", kPlaces}, {"unit", kUnit}, {"scores", table(select(scores / std::sqrt(width), 0, 0))}};
  for (const GalleryEntry& entry : gallery()) out["entries"].push_back(entry_of(entry, seed));
  kit::write_atomically(file, out.dump() + "\n");
}

}  // namespace lesson26
