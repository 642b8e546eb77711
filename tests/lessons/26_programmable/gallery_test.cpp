// Lesson 26's gallery: every entry against the formula of its paper, written once more with plain ops; its
// gradients against differences; and the number of its lines.
#include "lessons/26_programmable/gallery.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "tests/catch.hpp"

using namespace tapestry;
using lesson26::GalleryEntry;

namespace {

using Values = std::vector<Tensor>;
using Reference =
    std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v, const Values& learned)>;
using May = std::function<bool(Size i, Size j)>;
/// What is done to scaled scores (B, H, T, T); `apart` (T, T) holds i − j.
using Change = std::function<Tensor(const Tensor& scores, const Tensor& apart, const Values& learned)>;

constexpr DType f64 = DType::f64;

Mask pairs(Size n, const May& may) { return Mask::from(n, n, may); }
bool causal(Size i, Size j) { return j <= i; }
Tensor per_head(const Tensor& x) { return reshape(x, {x.count(), 1, 1}); }

Tensor dots(const Tensor& q, const Tensor& k) {
  return matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
}

Reference element(const May& may, const Change& change = {}) {
  return [=](const Tensor& q, const Tensor& k, const Tensor& v, const Values& learned) {
    const Size n = q.size(-2);
    const Tensor place = arange(0, static_cast<double>(n), 1, f64);
    Tensor scores = dots(q, k);
    if (change) scores = change(scores, unsqueeze(place, 1) - place, learned);
    return matmul(may ? masked_softmax(scores, pairs(n, may)) : softmax(scores, -1), v);
  };
}

/// table (heads, m) at column(i − j) of each pair: (heads, n, n)
Tensor looked_up(const Tensor& table, Size n, const std::function<Size(Size)>& column) {
  std::vector<std::int64_t> columns;
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < n; ++j) columns.push_back(column(i - j));
  return permute(embedding(transpose(table), Indices(columns, {n, n})), {2, 0, 1});
}

/// x (…, T, d) with each pair (a, b) of its halves turned by place · 10000^{−2i/d}.
Tensor turned(const Tensor& x) {
  const Size n = x.size(-2), half = x.size(-1) / 2;
  std::vector<double> cosines, sines;
  for (Size p = 0; p < n; ++p)
    for (Size i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
      cosines.push_back(std::cos(angle)), sines.push_back(std::sin(angle));
    }
  const Tensor c = tensor(cosines, {n, half}, f64), s = tensor(sines, {n, half}, f64);
  const Tensor a = slice(x, -1, 0, half), b = slice(x, -1, half, 2 * half);
  return concat({a * c - b * s, b * c + a * s}, -1);
}

/// v · tanh(q + k + b) / ‖v‖ · g
Tensor normed_additive(const Tensor& q, const Tensor& k, const Tensor& v, const Values& w) {
  const Tensor units = tanh(unsqueeze(q, -2) + unsqueeze(k, -3) + w[2]);
  const Tensor length = sqrt(sum(w[0] * w[0]));
  return matmul(softmax(w[1] * sum(units * w[0], {-1}) / length, -1), v);
}

/// Tu et al. 2016: each key's weights so far go into its next score.
Tensor coverage(const Tensor& q, const Tensor& k, const Tensor& v, const Values& w) {
  std::vector<Tensor> contexts, weights = {zeros({q.size(0), q.size(1), k.size(-2)}, f64)};
  for (Size i = 0; i < q.size(-2); ++i) {
    Tensor in = slice(q, -2, i, i + 1) + k;  // (B, H, Tk, d)
    for (const Tensor& before : weights) in = in + unsqueeze(before, -1) * w[1];
    weights.push_back(softmax(squeeze(matmul(tanh(in), unsqueeze(w[0], -1)), -1), -1));
    contexts.push_back(sum(unsqueeze(weights.back(), -1) * v, {-2}, Keep::yes));
  }
  return concat(contexts, -2);
}

/// Luong et al. 2015, equations 9 and 10, without the window's edge: σ = 2.
Tensor local_p(const Tensor& q, const Tensor& k, const Tensor& v, const Values& w) {
  const Size n = k.size(-2);
  const Tensor p =
      static_cast<double>(n) * sigmoid(sum(tanh(matmul(q, w[0])) * transpose(w[1]), {-1}, Keep::yes));
  const Tensor far = p - arange(0, static_cast<double>(n), 1, f64);
  return matmul(softmax(dots(q, k), -1) * exp(0.0 - far * far / 8), v);
}

/// Ye et al. 2024: (softmax(Q₁ K₁ᵀ) − λ softmax(Q₂ K₂ᵀ)) V
Tensor differential(const Tensor& q, const Tensor& k, const Tensor& v, const Values& w) {
  const Size half = q.size(-1) / 2;
  const Mask mask = pairs(q.size(-2), causal);
  const auto weights = [&](Size from) {
    return masked_softmax(dots(slice(q, -1, from, from + half), slice(k, -1, from, from + half)), mask);
  };
  return matmul(weights(0) - w[0] * weights(half), v);
}

/// Shazeer et al. 2020: heads mix before and after softmax.
Tensor talking_heads(const Tensor& q, const Tensor& k, const Tensor& v, const Values& w) {
  const auto mix = [](const Tensor& matrix, const Tensor& x) {  // over axis 1
    return permute(matmul(permute(x, {0, 2, 3, 1}), transpose(matrix)), {0, 3, 1, 2});
  };
  return matmul(mix(w[1], softmax(mix(w[0], dots(q, k)), -1)), v);
}

/// Leviathan et al. 2024, query by query: `less` is what the queries so far take from each key's scores.
Tensor selective(const Tensor& q, const Tensor& k, const Tensor& v, const Values&) {
  const Tensor scores = dots(q, k);
  const Size n = q.size(-2);
  const auto none = [&](Size keys) { return zeros({q.size(0), 1, 1, keys}, f64); };
  Tensor less = none(n);
  std::vector<Tensor> contexts;
  for (Size i = 0; i < n; ++i) {
    const Tensor row = slice(scores, 2, i, i + 1);  // (B, H, 1, T)
    const Tensor weights = softmax(slice(row - less, -1, 0, i + 1), -1);
    contexts.push_back(matmul(weights, slice(v, -2, 0, i + 1)));
    if (i < 2) continue;  // there is no key between the first and its own
    const Tensor first_head = slice(slice(row, 1, 0, 1), -1, 1, i);
    const Tensor positive = where(greater(first_head, zeros({}, f64)), first_head, zeros({}, f64));
    less = less + concat({none(1), positive, none(n - i)}, -1);
  }
  return concat(contexts, -2);
}

/// Qiu et al. 2025: what a head has read, times a gate that the query opens.
Tensor output_gate(const Tensor& q, const Tensor& k, const Tensor& v, const Values& w) {
  const Tensor context = matmul(masked_softmax(dots(q, k), pairs(q.size(-2), causal)), v);
  const Tensor opens = matmul(q, unsqueeze(w[0], -1));  // (B, H, T, 1)
  return context / (1.0 + exp(0.0 - opens));
}

/// Softmax with e^c more in its sum, where each head has its own c.
Tensor sink(const Tensor& q, const Tensor& k, const Tensor& v, const Values& w) {
  const Tensor scores = dots(q, k);
  const Tensor terms = where(pairs(q.size(-2), causal), exp(scores), zeros({}, f64));
  return matmul(terms / (exp(per_head(w[0])) + sum(terms, {-1}, Keep::yes)), v);
}

/// Ramapuram et al. 2024: σ(s − log n)
Tensor sigmoid_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Values&) {
  const Tensor scores = dots(q, k);
  const Tensor weights = 1.0 / (1.0 + static_cast<double>(k.size(-2)) * exp(0.0 - scores));
  return matmul(where(pairs(q.size(-2), causal), weights, zeros({}, f64)), v);
}

/// Lin et al. 2025: s_ij + Σ log f_l over j < l ≤ i.
Tensor forgetting(const Tensor& s, const Tensor& gates) {
  const Size n = s.size(-1);
  std::vector<std::int64_t> phases;
  for (Size l = 0; l < n; ++l) phases.push_back(l % 16);
  const Tensor logs = log(sigmoid(embedding(transpose(gates), Indices(phases, {n}))));  // (n, heads)
  const Mask between = Mask::from(n * n, n, [n](Size pair, Size l) { return pair % n < l && l <= pair / n; });
  const Tensor sums = matmul(where(between, full({}, 1, f64), zeros({}, f64)), logs);
  return s + permute(reshape(sums, {n, n, s.size(1)}), {2, 0, 1});
}

Size document(Size t) { return t < 5 ? 0 : t < 9 ? 1 : t < 16 ? 2 : 3; }

bool is_ancestor(Size i, Size j) {
  for (; i > j; i = (i - 1) / 2) {
  }
  return i == j;
}

/// T5's buckets (Raffel et al. 2020): 8 exact, 8 up to 128.
Size bucket(Size far) {
  if (far < 8) return std::max<Size>(0, far);
  const double grown = std::log(static_cast<double>(far) / 8) / std::log(128.0 / 8) * 8;
  return std::min<Size>(15, 8 + static_cast<Size>(grown + 1e-9));
}

const std::map<std::string, Reference>& references() {
  static const std::map<std::string, Reference> all = {
      {"causal", element(causal)},
      {"sliding window", element([](Size i, Size j) { return j <= i && j > i - 6; })},
      {"dilated", element([](Size i, Size j) { return j <= i && i % 3 == j % 3; })},
      {"prefix-LM", element([](Size i, Size j) { return j < std::max<Size>(7, i + 1); })},
      {"document", element([](Size i, Size j) { return j <= i && document(i) == document(j); })},
      {"block-diagonal", element([](Size i, Size j) { return i - i % 6 == j - j % 6; })},
      {"global + window",
       element([](Size i, Size j) { return std::min(i, j) < 2 || (i - j < 4 && j - i < 4); })},
      {"tree mask", element(is_ancestor)},
      {"ALiBi", element(causal,
                        [](const Tensor& s, const Tensor& apart, const Values&) {
                          const Tensor heads = arange(1, 5, 1, f64);
                          return s - per_head(exp(heads * -std::log(4.0))) * abs(apart);
                        })},
      {"relative bias", element({},
                                [](const Tensor& s, const Tensor&, const Values& w) {
                                  return s + looked_up(w[0], s.size(-1), [](Size far) {
                                           return std::clamp<Size>(-far, -8, 8) + 8;
                                         });
                                })},
      {"T5 buckets", element(causal,
                             [](const Tensor& s, const Tensor&, const Values& w) {
                               return s + looked_up(w[0], s.size(-1), bucket);
                             })},
      {"soft-cap", element({}, [](const Tensor& s, const Tensor&,
                                  const Values&) { return tanh(s * 0.5) * 2.0; })},
      {"distance decay", element(causal,
                                 [](const Tensor& s, const Tensor& apart, const Values& w) {
                                   return s - per_head(w[0]) * log(1.0 + per_head(w[1]) * abs(apart));
                                 })},
      {"learned temperature",
       element({}, [](const Tensor& s, const Tensor&, const Values& w) { return s / per_head(w[0]); })},
      {"forgetting", element(causal, [](const Tensor& s, const Tensor&,
                                        const Values& w) { return forgetting(s, w[0]); })},
      {"rotary",
       [](const Tensor& q, const Tensor& k, const Tensor& v, const Values&) {
         return matmul(softmax(dots(turned(q), turned(k)), -1), v);
       }},
      {"cosine",
       [](const Tensor& q, const Tensor& k, const Tensor& v, const Values& w) {
         const auto square = [](const Tensor& x) { return sum(x * x, {-1}, Keep::yes); };
         const Tensor lengths = sqrt(matmul(square(q), transpose(square(k))));
         return matmul(softmax(w[0] * matmul(q, transpose(k)) / lengths, -1), v);
       }},
      {"normed additive", normed_additive},
      {"coverage", coverage},
      {"local-p", local_p},
      {"differential", differential},
      {"talking heads", talking_heads},
      {"selective", selective},
      {"sigmoid", sigmoid_attention},
      {"output gate", output_gate},
      {"sink", sink}};
  return all;
}

/// Query, key, value, then what is learned, each moved a little from its first values.
Values draw(const kit::Mechanism& mechanism, Size words) {
  Values all;
  for (std::uint64_t i = 1; i <= 3; ++i)
    all.push_back(variable(random_normal({2, mechanism.heads, words, mechanism.width}, i, f64)));
  for (Tensor& one : kit::first_values(mechanism, 1, f64)) {
    assign(one, one + 0.1 * random_normal(one.shape(), 4 + all.size(), f64));
    all.push_back(one);
  }
  return all;
}

}  // namespace

TEST_CASE("each mechanism of the gallery is its paper's formula, value and gradients", "[gallery]") {
  REQUIRE(lesson26::gallery().size() == references().size());
  std::string table;
  for (const GalleryEntry& entry : lesson26::gallery()) {
    const kit::Mechanism& mechanism = entry.mechanism;
    CAPTURE(mechanism.name);
    const Reference& reference = references().at(mechanism.name);
    double apart = 0;
    for (const Size words : {1, 17, 60}) {  // 60 queries are more than one tile
      const Values all = draw(mechanism, words);
      const Values learned(all.begin() + 3, all.end());
      const auto own = [&] { return kit::run(mechanism, all[0], all[1], all[2], learned); };
      const auto theirs = [&] { return reference(all[0], all[1], all[2], learned); };
      apart = std::max({apart, kit::largest(own() - theirs()),
                        kit::farthest(kit::gradients(own, all, 1), kit::gradients(theirs, all, 1))});
    }
    table += fmt::format("{:<20} {:.1e}\n", mechanism.name, apart);
    CHECK(apart < 1e-11);
  }
  INFO(table);
  SUCCEED();
}

TEST_CASE("the gallery's last queries alone, as with a cache of keys, are those of its formulas",
          "[gallery]") {
  for (const GalleryEntry& entry : lesson26::gallery()) {
    const kit::Mechanism& mechanism = entry.mechanism;
    // These two add up what all earlier queries have read or selected.
    if (mechanism.name == "coverage" || mechanism.name == "selective") continue;
    CAPTURE(mechanism.name);
    constexpr Size kWords = 60;
    const Values all = draw(mechanism, kWords);
    const Values learned(all.begin() + 3, all.end());
    const Tensor whole = references().at(mechanism.name)(all[0], all[1], all[2], learned);
    for (const Size last : {1, 50}) {  // 50 queries are more than one tile
      CAPTURE(last);
      const auto of_last = [=](const Tensor& x) { return slice(x, -2, kWords - last, kWords); };
      CHECK(kit::largest(kit::run(mechanism, of_last(all[0]), all[1], all[2], learned) - of_last(whole)) <
            1e-11);
    }
  }
}

TEST_CASE("each mechanism of the gallery passes the lesson's own check", "[gallery][unsanitized]") {
  std::ostringstream out;
  kit::Report report(out);
  for (const GalleryEntry& entry : lesson26::gallery()) CHECK(kit::check(entry.mechanism, report));
  INFO(out.str());
  CHECK(report.all_met());
}

TEST_CASE("no mechanism of the gallery has more than 15 lines, and the list counts them right", "[gallery]") {
  static const std::regex head(R"(^Mechanism \w+\(.*\) \{.*)"), name(R"rx(\.name = "([^"]*)")rx");
  std::map<std::string, int> lines;
  for (const char* file : {"gallery_element.cpp", "gallery_ops.cpp"}) {
    std::ifstream in(std::string(TAPESTRY_SOURCE_DIR "/lessons/26_programmable/") + file);
    int begun = 0, number = 0;
    std::string found;
    for (std::string line; std::getline(in, line); ++number) {
      if (std::regex_match(line, head)) begun = number, found.clear();
      if (std::smatch match; std::regex_search(line, match, name)) found = match[1];
      const bool one_line = line.rfind("Mechanism", 0) == 0 && line.back() == '}';
      if (found.empty() || !(line == "}" || one_line)) continue;
      lines[found] = number - begun + 1;
      found.clear();
    }
  }
  for (const GalleryEntry& entry : lesson26::gallery()) {
    CAPTURE(entry.mechanism.name);
    CHECK(lines.at(entry.mechanism.name) == entry.lines);
    CHECK(entry.lines <= 15);
  }
}
