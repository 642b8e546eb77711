#include "tests/nn/attention/score_table.hpp"

#include <cmath>

namespace tapestry::table {

namespace {

double product(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double squared_distance(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

double additive_of(const Pair& p, const Weights& w) {
  double sum = 0;
  for (Size u = 0; u < w.size("score.weight"); ++u)
    sum += w.at("score.weight", u) *
           std::tanh(w.row("query.weight", u, p.query) + w.row("key.weight", u, p.key));
  return sum;
}

double normed_additive_of(const Pair& p, const Weights& w) {
  double sum = 0, squares = 0;
  for (Size u = 0; u < w.size("score.weight"); ++u) {
    const double v = w.at("score.weight", u);
    squares += v * v;
    sum += v *
           std::tanh(w.row("query.weight", u, p.query) + w.row("key.weight", u, p.key) + w.at("key.bias", u));
  }
  return w.at("score.gain", 0) * sum / std::sqrt(squares);
}

double general_of(const Pair& p, const Weights& w) {
  double sum = 0;
  for (std::size_t i = 0; i < p.query.size(); ++i)
    sum += p.query[i] * w.row("weight", static_cast<Size>(i), p.key);
  return sum;
}

double concat_of(const Pair& p, const Weights& w) {
  Vector both = p.query;
  both.insert(both.end(), p.key.begin(), p.key.end());
  double sum = 0;
  for (Size u = 0; u < w.size("weight"); ++u)
    sum += w.at("score.weight", u) * std::tanh(w.row("weight", u, both));
  return sum;
}

double by_place(const Pair& p, const Weights& w) { return w.row("weight", p.place, p.query); }

}  // namespace

Weights::Weights(const State& state) {
  for (const auto& [name, tensor] : state) plain_.emplace(name, Plain{tensor.shape(), tensor.to_vector()});
}

const Weights::Plain& Weights::find(const std::string& name) const {
  const auto found = plain_.find(name);
  if (found == plain_.end()) fail("the score has no parameter {}", name);
  return found->second;
}

double Weights::row(const std::string& name, Size unit, const Vector& x, Size from) const {
  const Plain& weight = find(name);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += weight.values.at(static_cast<std::size_t>(unit * weight.shape[1] + from) + i) * x[i];
  return sum;
}

double Weights::at(const std::string& name, Size i) const {
  return find(name).values.at(static_cast<std::size_t>(i));
}

Size Weights::size(const std::string& name) const { return find(name).shape[0]; }

const std::vector<ScoreRow>& score_rows() {
  static const std::vector<ScoreRow> rows{
      {.name = "nadaraya_watson",
       .golden = "nadaraya_watson",
       .make = [](const ScoreSizes&) { return nadaraya_watson(0.8, Sigma::learned); },
       .reference =
           [](const Pair& p, const Weights& w) {
             return -squared_distance(p.query, p.key) / (2 * std::exp(2 * w.at("log_sigma", 0)));
           },
       .equal_widths = true},
      {.name = "nadaraya_watson",
       .golden = "",
       .make = [](const ScoreSizes&) { return nadaraya_watson(0.8); },
       .reference = [](const Pair& p,
                       const Weights&) { return -squared_distance(p.query, p.key) / (2 * 0.8 * 0.8); },
       .equal_widths = true},
      {.name = "additive",
       .golden = "additive",
       .make = [](const ScoreSizes& s) { return additive(s.query, s.key, s.third); },
       .reference = additive_of},
      {.name = "normed_additive",
       .golden = "normed_additive",
       .make = [](const ScoreSizes& s) { return normed_additive(s.query, s.key, s.third); },
       .reference = normed_additive_of},
      {.name = "dot",
       .golden = "dot",
       .make = [](const ScoreSizes&) { return dot(); },
       .reference = [](const Pair& p, const Weights&) { return product(p.query, p.key); },
       .equal_widths = true},
      {.name = "scaled_dot",
       .golden = "scaled_dot",
       .make = [](const ScoreSizes&) { return scaled_dot(); },
       .reference =
           [](const Pair& p, const Weights&) {
             return product(p.query, p.key) / std::sqrt(static_cast<double>(p.key.size()));
           },
       .equal_widths = true},
      {.name = "general",
       .golden = "general",
       .make = [](const ScoreSizes& s) { return general(s.query, s.key); },
       .reference = general_of},
      {.name = "concat_score",
       .golden = "concat",
       .make = [](const ScoreSizes& s) { return concat_score(s.query, s.key, s.third); },
       .reference = concat_of},
      {.name = "location",
       .golden = "location",
       .make = [](const ScoreSizes& s) { return location(s.query, s.third); },
       .reference = by_place,
       .sees_keys = false},
      {.name = "fully_connected",
       .golden = "fully_connected",
       .make = [](const ScoreSizes& s) { return fully_connected(1, s.query - 1, s.third); },
       .reference = by_place,
       .sees_keys = false},
      {.name = "cosine",
       .golden = "cosine",
       .make = [](const ScoreSizes&) { return cosine(); },
       .reference =
           [](const Pair& p, const Weights& w) {
             return w.at("gain", 0) * product(p.query, p.key) /
                    std::sqrt(product(p.query, p.query) * product(p.key, p.key));
           },
       .equal_widths = true},
  };
  return rows;
}

}  // namespace tapestry::table
