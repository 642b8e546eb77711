// What every weight of every model holds before training: how it is spread, and how widely, by name.
#include <cmath>
#include <string>
#include <vector>

#include "nn/seq2seq/seq2seq.hpp"
#include "nn/transformer/transformer.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;

namespace {

enum class Spread { uniform, normal, constant };

/// Weights whose name ends so hold such values: uniform on ±size, normal with deviation size, or size.
struct Rule {
  std::string ending;
  Spread spread;
  double size;
};

double root(double x) { return std::sqrt(x); }
/// Glorot and Bengio's bound.
double xavier_bound(double in, double out) { return root(6 / (in + out)); }

/// The weight's values, without the padding word's row of zeros where there is one.
std::vector<double> values_of(const Tensor& weight, bool padded) {
  if (!padded) return weight.to_vector();
  CHECK(max(abs(select(weight, 0, 0))).item() == 0);
  return slice(weight, 0, 1, weight.size(0)).to_vector();
}

void check_weight(const std::string& name, const Tensor& weight, const Rule& rule, bool padded) {
  CAPTURE(name, rule.size);
  double sum = 0, squares = 0, largest = 0;
  const std::vector<double> values = values_of(weight, padded);
  for (const double value : values) {
    sum += value;
    squares += value * value;
    largest = std::max(largest, std::abs(value));
    if (rule.spread == Spread::constant) CHECK(value == Approx(rule.size).margin(1e-15));
  }
  if (rule.spread == Spread::constant) return;
  const auto n = static_cast<double>(values.size());
  const bool uniform = rule.spread == Spread::uniform;
  const double deviation = uniform ? rule.size / root(3) : rule.size;
  CHECK(std::abs(sum / n) < 5 * deviation / root(n));
  // x² of a uniform x has the variance 4/5 of its square's mean squared, of a normal one twice.
  CHECK(squares / n == Approx(deviation * deviation).epsilon(5 * root((uniform ? 0.8 : 2) / n)));
  if (uniform) {
    CHECK(largest <= rule.size);
    CHECK(largest > rule.size * (1 - 12 / n));
  } else {
    CHECK(largest > 1.9 * rule.size);  // wider than any uniform values of this deviation
  }
}

/// Every weight follows the first rule that fits its name, and every rule fits one.
void check_all(Module& model, const std::vector<Rule>& rules, bool padded = false) {
  model.initialise(3, DType::f64);
  std::vector<bool> used(rules.size(), false);
  for (const auto& [name, weight] : model.state()) {
    std::size_t i = 0;
    while (i < rules.size() && !name.ends_with(rules[i].ending)) ++i;
    CAPTURE(name);
    REQUIRE(i < rules.size());
    used[i] = true;
    check_weight(name, weight, rules[i], padded && name.ends_with("embedding.weight"));
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    CAPTURE(rules[i].ending);
    CHECK(used[i]);
  }
}

constexpr double kHidden = 24, kDecoder = 26;

TranslatorOptions recurrent(CellKind cell) {
  TranslatorOptions options;
  options.encoder = {.vocabulary = 60, .embedding = 20, .hidden = 24, .cell = cell};
  options.encoder.recurrent.layers = 2;
  options.decoder = {.vocabulary = 61, .embedding = 22, .hidden = 26, .attention = 28, .readout = 32};
  options.decoder.cell = cell;
  return options;
}

/// Those of the encoder, the cell and the first state; wherever its inputs come from, a recurrent layer's
/// bound is that of its own width.
std::vector<Rule> recurrent_rules(double first_state_from) {
  std::vector<Rule> rules{
      {"decoder.initial.weight", Spread::uniform, xavier_bound(first_state_from, kDecoder)},
      {"decoder.initial.bias", Spread::constant, 0},
      {"encoder.embedding.weight", Spread::normal, 1},
      {"decoder.embedding.weight", Spread::normal, 1}};
  for (const char* what : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"}) {
    rules.push_back({std::string("decoder.cell.") + what, Spread::uniform, 1 / root(kDecoder)});
    for (const char* layer : {"_l0", "_l0_reverse", "_l1", "_l1_reverse"})
      rules.push_back({std::string("encoder.rnn.") + what + layer, Spread::uniform, 1 / root(kHidden)});
  }
  return rules;
}

}  // namespace

TEST_CASE("first values of recurrent translators") {
  const auto cell = GENERATE(CellKind::rnn, CellKind::gru, CellKind::lstm);
  TranslatorOptions options = recurrent(cell);
  std::vector<Rule> rules = recurrent_rules(24);
  const auto add = [](std::vector<Rule>& to, const std::vector<Rule>& more) {
    to.insert(to.begin(), more.begin(), more.end());
  };
  const std::vector<Rule> output{{"decoder.output.weight", Spread::uniform, 1 / root(32)},
                                 {"decoder.output.bias", Spread::constant, 0}};
  add(rules, output);
  add(rules, {{"attention.query.weight", Spread::uniform, xavier_bound(26, 28)},
              {"attention.key.weight", Spread::uniform, xavier_bound(48, 28)},
              {"attention.score.weight", Spread::uniform, 1 / root(28)},
              {"decoder.readout.weight", Spread::uniform, 1 / root(26 + 48 + 22)},
              {"decoder.readout.bias", Spread::constant, 0}});
  Translator bahdanau(options);
  check_all(bahdanau, rules, true);

  rules = recurrent_rules(48);
  add(rules, output);
  add(rules, {{"attention.weight", Spread::uniform, xavier_bound(26, 48)},
              {"decoder.combine.weight", Spread::uniform, 1 / root(48 + 26)}});
  LuongTranslator luong(options);
  check_all(luong, rules, true);

  rules = recurrent_rules(48);
  add(rules, output);
  add(rules, {{"decoder.readout.weight", Spread::uniform, 1 / root(26)},
              {"decoder.readout.bias", Spread::constant, 0}});
  PlainTranslator plain(options);
  check_all(plain, rules, true);
}

TEST_CASE("words that are also the output's weight start as long as 1") {
  TranslatorOptions options = recurrent(CellKind::gru);
  options.decoder.tied = true;
  options.decoder.readout = 22;
  Translator model(options);
  model.initialise(3, DType::f64);
  check_weight("decoder.embedding.weight", model.state().at("decoder.embedding.weight"),
               {"", Spread::normal, 1 / root(22)}, true);
}

TEST_CASE("first values of transformers") {
  const auto activation = GENERATE(Activation::relu, Activation::swiglu);
  TransformerOptions side{.vocabulary = 60,
                          .layers = 2,
                          .block = {.width = 24, .heads = 2, .hidden = 40, .activation = activation},
                          .positions = learned_positions(50, 0.3),
                          .segments = 20,
                          .input_norm = true};
  TransformerTranslator model({side, side, false});
  std::vector<Rule> rules{{"positions.weight", Spread::normal, 0.3},
                          {"segments.weight", Spread::normal, 1 / root(24)},
                          {"words.weight", Spread::normal, 1 / root(24)},
                          {"feed_forward.in.weight", Spread::uniform, xavier_bound(24, 40)},
                          {"feed_forward.out.weight", Spread::uniform, xavier_bound(40, 24)},
                          {"norm.weight", Spread::constant, 1},
                          {"bias", Spread::constant, 0}};
  if (activation == Activation::swiglu)
    rules.push_back({"feed_forward.gate.weight", Spread::uniform, xavier_bound(24, 40)});
  for (const char* which : {"query", "key", "value", "output"})
    for (const char* attention : {"self.", "cross."})
      rules.push_back({std::string(attention) + which + ".weight", Spread::uniform, xavier_bound(24, 24)});
  check_all(model, rules);

  side.positions = shaw(20);
  side.tied = false;
  LanguageModel writes(side);
  writes.initialise(3, DType::f64);
  const State state = writes.state();
  check_weight("Shaw's keys", state.at("stack.blocks.1.self.attention.positions.key"),
               {"", Spread::uniform, xavier_bound(12, 41)}, false);
  check_weight("the output", state.at("output.weight"), {"", Spread::uniform, xavier_bound(24, 60)}, false);
  side.positions = t5_buckets(256, 1000);
  LanguageModel buckets(side);
  buckets.initialise(3, DType::f64);
  check_weight("T5's buckets", buckets.state().at("stack.blocks.0.self.attention.positions.weight"),
               {"", Spread::normal, 0.02}, false);
}

TEST_CASE("first values of scores") {
  const auto weights = [](const ScoreFactory& maker) {
    Attention attention(maker);
    attention.initialise(3, DType::f64);
    return attention.state();
  };
  const State covering = weights(additive(20, 30, 200, Coverage::yes));
  check_weight("coverage", covering.at("coverage.weight"), {"", Spread::uniform, 1 / root(200)}, false);
  check_weight("vector", covering.at("score.weight"), {"", Spread::uniform, 1 / root(200)}, false);
  const State normed = weights(normed_additive(20, 30, 200));
  check_weight("gain", normed.at("score.gain"), {"", Spread::constant, 1 / root(200)}, false);
  check_weight("key", normed.at("key.weight"), {"", Spread::uniform, xavier_bound(30, 200)}, false);
  const State concat = weights(concat_score(20, 30, 200));
  check_weight("weight", concat.at("weight"), {"", Spread::uniform, xavier_bound(50, 200)}, false);
  check_weight("general", weights(general(20, 30)).at("weight"), {"", Spread::uniform, xavier_bound(20, 30)},
               false);
  check_weight("cosine", weights(cosine(7)).at("gain"), {"", Spread::constant, 7}, false);
  check_weight("σ", weights(nadaraya_watson(2, Sigma::learned)).at("log_sigma"),
               {"", Spread::constant, std::log(2.0)}, false);
}
