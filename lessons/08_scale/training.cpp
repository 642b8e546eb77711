// The task, the model and the training runs of lesson 08: look up answers with vectors of any width.
//
// There are 32 symbols. A question has ten different symbols as keys, and each key has one of ten possible answers.
// The query is one of the keys, and the model must return its answer. Each symbol has two learned vectors: one for the
// query and one for a key. (They correspond to lesson 06's W_Q and W_K, applied to one-hot vectors.)
#include "lessons/08_scale/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "lessons/08_scale/lookup_questions.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "nn/embedding.hpp"
#include "optim/adam.hpp"

namespace tapestry::lesson08 {
namespace {

constexpr Size kSymbols = 32, kKeys = 10, kAnswers = 10;

using Questions = kit::LookupQuestions;

Questions draw_questions(Size batch, std::uint64_t seed, std::uint64_t stream) {
  return kit::draw_lookup_questions(kit::Random(seed, stream), batch, {kSymbols, kKeys, kAnswers});
}

class LearnedFactorScore : public Score {
 public:
  explicit LearnedFactorScore(Parent parent) : Score(std::move(parent)) {}
  Tensor score(const Tensor& query, const Tensor& keys, ScoreState&) const override {
    return exp(log_factor) * matmul(query, transpose(keys));
  }
  Parameter log_factor{*this, "log_factor", {1}, constant(0)};
};

struct Lookup : Module {
  Lookup(Size width, double deviation, const ScoreFactory& score)
      : as_query{{*this, "as_query"}, kSymbols, width, {}, normal(deviation)},
        as_key{{*this, "as_key"}, kSymbols, width, {}, normal(deviation)},
        value{{*this, "value"}, kAnswers, kAnswers},
        attention{{*this, "attention"}, score} {}

  /// Returns the logits of the answers, (B, answers). They are the context itself.
  Tensor operator()(const Questions& questions) const {
    const Tensor query = unsqueeze(as_query(questions.query), 1);  // (B, 1, d)
    return squeeze(attention(query, as_key(questions.keys), value(questions.answer_of_key)).context, 1);
  }
  /// Returns the scores before the softmax, (B, 1, 10). A score of nn/ has two steps: prepare(keys) and score(query,
  /// prepared, state). The state is for scores that remember earlier steps, which these scores do not.
  Tensor scores(const Questions& questions) const {
    ScoreState state;
    return attention.score().score(unsqueeze(as_query(questions.query), 1),
                                   attention.score().prepare(as_key(questions.keys)), state);
  }

  Embedding as_query, as_key, value;
  Attention attention;
};

double accuracy(const Lookup& model, const Questions& questions) {
  return kit::percent_equal(argmax(model(questions)), questions.answer);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Adds all parameters of the model to `adam`. Queries and keys have `rate` times the usual learning rate.
void add_groups(Adam& adam, const Lookup& model, double rate) {
  constexpr double kRate = 1e-2;
  std::vector<Tensor> others = model.attention.parameters();
  others.push_back(model.value.weight);
  adam.add_group({model.as_query.weight, model.as_key.weight}, {.learning_rate = kRate * rate});
  adam.add_group(others, {.learning_rate = kRate});
}

double median_gradient(const Lookup& model, const Questions& questions) {
  Tape tape;
  const Tensor scores = model.scores(questions);
  const Tensor logits = squeeze(matmul(softmax(scores, -1), model.value(questions.answer_of_key)), 1);
  const Tensor losses = cross_entropy(logits, questions.answer, {}) * static_cast<double>(logits.size(0));
  const Tensor gradient = tape.gradients(losses, {scores})[0];
  return median(sqrt(sum(gradient * gradient, {-1, -2})).to_vector());
}

Outcome train_one(Size width, const Setting& setting, const kit::Options& options) {
  constexpr Size kQuestions = 64, kEvery = 20;
  const auto d = static_cast<double>(width);
  Lookup model(width, std::pow(d, setting.size_power), setting.score(width));
  model.initialise(options.seed);
  Outcome outcome{};
  outcome.first_gradient =
      median_gradient(model, draw_questions(options.smoke ? 100 : 1000, options.seed, 1));
  const Questions watched = draw_questions(500, options.seed, 2);
  const Tensor first_scores = model.scores(watched).detach();
  Adam adam;
  add_groups(adam, model, std::pow(d, setting.rate_power));
  kit::Progress progress(options.steps);
  for (Size step = 1; step <= options.steps; ++step) {
    const Questions questions =
        draw_questions(kQuestions, options.seed, static_cast<std::uint64_t>(100 + step));
    Tape tape;
    const Tensor loss = cross_entropy(model(questions), questions.answer);
    tape.backward(loss);
    adam.step();
    progress.step(loss.item());
    if (step == 1) outcome.first_move = mean(abs(model.scores(watched).detach() - first_scores)).item();
    if (outcome.steps_to_99 == 0 && step % kEvery == 0 && accuracy(model, watched) >= 99)
      outcome.steps_to_99 = step;
    if (outcome.steps_to_99 != 0 && step == 2 * outcome.steps_to_99) break;  // train for twice that long
  }
  progress.finish();
  outcome.accuracy = accuracy(model, draw_questions(options.smoke ? 200 : 4000, options.seed, 3));
  const auto* learned = dynamic_cast<const LearnedFactorScore*>(&model.attention.score());
  outcome.factor = learned ? exp(learned->log_factor).item() : 1;
  return outcome;
}

}  // namespace

ScoreFactory learned_factor() { return ScoreFactory::of<LearnedFactorScore>(); }

double Runs::worst() const {
  return std::min_element(at.begin(), at.end(),
                          [](const Outcome& a, const Outcome& b) { return a.accuracy < b.accuracy; })
      ->accuracy;
}

std::array<Size, kWidths.size()> Runs::steps() const {
  std::array<Size, kWidths.size()> all{};
  for (std::size_t i = 0; i < kWidths.size(); ++i) all[i] = at[i].steps_to_99;
  return all;
}

bool Runs::slower_than(const Runs& other) const {
  for (std::size_t i = 0; i < kWidths.size(); ++i)
    if (at[i].steps_to_99 <= other.at[i].steps_to_99) return false;
  return true;
}

double power_of_moves(const Runs& a, const Runs& b, double power) {
  double worst = power;
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    const double here =
        std::log(a.at[i].first_move / b.at[i].first_move) / std::log(static_cast<double>(kWidths[i]));
    if (std::abs(here - power) > std::abs(worst - power)) worst = here;
  }
  return worst;
}

void print_heading() {
  fmt::print("  {:<21}{:>5}{:>10}{:>8}{:>15}{:>9}{:>8}\n", "", "d", "gradient", "move", "steps to 99 %",
             "right", "e^w");
}

Runs train(const Setting& setting, const kit::Options& options) {
  Runs runs{setting.name, {}};
  for (std::size_t i = 0; i < kWidths.size(); ++i) runs.at[i] = train_one(kWidths[i], setting, options);
  for (std::size_t i = 0; i < kWidths.size(); ++i) {  // after the progress bars
    const Outcome& o = runs.at[i];
    const std::string steps = o.steps_to_99 ? std::to_string(o.steps_to_99) : "never";
    fmt::print("  {:<21}{:>5}{:>10.1e}{:>8.3f}{:>15}{:>7.1f} %{:>8}\n", i ? "" : setting.name, kWidths[i],
               o.first_gradient, o.first_move, steps, o.accuracy,
               o.factor == 1 ? "" : fmt::format("{:.3f}", o.factor));
  }
  return runs;
}

void draw_steps(const std::vector<Runs>& all, const char* file, const kit::Options& options) {
  kit::Chart chart{"Steps to 99 % right", "width d", "steps", {}, {}, kit::Scale::log, kit::Scale::log};
  for (const Runs& runs : all) {
    kit::Series series{runs.name};
    for (std::size_t i = 0; i < kWidths.size(); ++i) {
      const Size steps = runs.at[i].steps_to_99;
      series.x.push_back(static_cast<double>(kWidths[i]));
      series.y.push_back(static_cast<double>(steps ? steps : options.steps));
    }
    const auto same = std::find_if(chart.series.begin(), chart.series.end(),
                                   [&](const kit::Series& drawn) { return drawn.y == series.y; });
    if (same == chart.series.end())
      chart.series.push_back(series);
    else
      same->name += " = " + runs.name;  // equal curves: draw one with both names
  }
  chart.levels.push_back({static_cast<double>(options.steps), "gave up"});
  kit::show(chart, options.out / file);
}

}  // namespace tapestry::lesson08
