#include "lessons/22_transformer/warm_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/core.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/translation/grammar_corpus.hpp"
#include "lessons/kit/translation/transformer_config.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/schedule.hpp"

namespace tapestry::lesson22 {
namespace {

constexpr Size kSteps = 150, kRise = 50, kBatch = 32;
constexpr double kRate = 6e-3;

double loss_at(double probability, double smoothing) {
  constexpr Size kWords = 100;
  std::vector<double> logits(kWords, std::log((1 - probability) / (kWords - 1)));
  logits[0] = std::log(probability);
  return cross_entropy(tensor(logits, {1, kWords}, DType::f64), Indices{0}, {.smoothing = smoothing}).item();
}

/// The first steps of a translator's training.
struct Start {
  kit::Series losses;  // means of ten steps
  double last = 0;     // mean loss of the last 20 steps
  double first_move =
      0;  // mean distance that the first step moves a weight, in learning rates, over the weights that move
  double last_move = 0;  // the same mean for the last step
};

/// Returns the mean distance between two states of the weights, over the weights that differ.
double mean_move(const std::vector<Tensor>& before, const std::vector<Tensor>& after) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::vector<double> from = before[i].to_vector(), to = after[i].to_vector();
    for (std::size_t j = 0; j < from.size(); ++j) {
      if (from[j] == to[j]) continue;
      sum += std::abs(to[j] - from[j]);
      ++count;
    }
  }
  return sum / count;
}

std::vector<Tensor> copies_of(const std::vector<Tensor>& weights) {
  std::vector<Tensor> copies;
  for (const Tensor& weight : weights)
    copies.push_back(tensor(weight.to_vector(), weight.shape(), DType::f64));
  return copies;
}

Start start(bool warm_up, const kit::Corpus& corpus, const kit::Options& options) {
  const kit::TransformerConfig config{.layers = 3, .width = 64, .heads = 4, .hidden = 128};
  TransformerTranslatorOptions sizes = kit::options_of(config, corpus.source.size(), corpus.target.size());
  sizes.encoder.block.norm_position = sizes.decoder.block.norm_position = NormPosition::post;
  TransformerTranslator model(sizes);
  model.initialise(options.seed);
  const std::vector<Tensor> weights = model.parameters();
  Adam adam(weights, {.learning_rate = kRate, .beta2 = 0.98});
  kit::Batches batches(corpus.train, {.size = kBatch, .seed = options.seed});
  const Schedule rate = warm_up ? tapestry::warm_up(kRise) : constant_rate();
  const Size steps = std::min(kSteps, options.steps);
  Start result{{warm_up ? "warm-up" : "full learning rate at once", {}, {}}};
  double of_ten = 0;
  kit::Progress progress(steps, {.unit = "words"});
  for (Size step = 1; step <= steps; ++step) {
    const kit::Batch batch = batches.next();
    const kit::Forcing forcing = kit::teacher_forcing(batch.target);
    Tape tape;
    const Tensor loss = cross_entropy(
        model(kit::indices(batch.source), kit::valid_lengths(batch.source), kit::indices(forcing.input)),
        kit::indices(forcing.output), {.ignore = kit::kPad});
    tape.backward(loss);
    const bool measured = step == 1 || step == steps;
    const std::vector<Tensor> before = measured ? copies_of(weights) : std::vector<Tensor>{};
    adam.step(rate(step));
    if (measured)
      (step == 1 ? result.first_move : result.last_move) = mean_move(before, weights) / (kRate * rate(step));
    of_ten += loss.item() / 10;
    if (step % 10 == 0) {
      result.losses.x.push_back(static_cast<double>(step));
      result.losses.y.push_back(of_ten);
      of_ten = 0;
    }
    if (step > steps - 20) result.last += loss.item() / static_cast<double>(std::min<Size>(20, steps));
    progress.step(loss.item(), static_cast<double>(forcing.words));
  }
  progress.finish();
  return result;
}

/// Returns the mean loss of a prediction from the frequencies of the words alone.
double loss_of_frequencies(const kit::Corpus& corpus) {
  std::map<std::int64_t, double> counts;
  double all = 0, loss = 0;
  for (const kit::Pair& pair : corpus.train)
    for (std::size_t i = 1; i < pair.target.size(); ++i) {  // all words but <start>
      ++counts[pair.target[i]];
      ++all;
    }
  for (const auto& [word, count] : counts) loss -= count / all * std::log(count / all);
  return loss;
}

}  // namespace

double draw_smoothing(double smoothing, const kit::Options& options) {
  kit::Chart chart{.title = "The loss of a word by its probability",
                   .x_label = "probability of the right word",
                   .y_label = "loss"};
  for (const double share : {0.0, smoothing}) {
    kit::Series curve{fmt::format("smoothing {}", share)};
    for (double p = 0.5; p < 0.9995; p += 0.001) {
      curve.x.push_back(p);
      curve.y.push_back(loss_at(p, share));
    }
    chart.series.push_back(curve);
  }
  kit::show(chart, options.out / "smoothing.svg");
  const kit::Series& smoothed = chart.series[1];
  const auto least = std::min_element(smoothed.y.begin(), smoothed.y.end()) - smoothed.y.begin();
  return smoothed.x[static_cast<std::size_t>(least)];
}

std::vector<double> adam_trajectory(const std::vector<double>& gradients) {
  const Tensor weight = variable(zeros({1}, DType::f64));
  Adam adam({weight}, {.learning_rate = 1, .epsilon = 0});
  std::vector<double> places;
  for (const double gradient : gradients) {
    {
      Tape tape;
      tape.backward(sum(weight * gradient));
    }
    adam.step();
    places.push_back(weight.at({0}));
  }
  return places;
}

double compare_warm_up(const kit::Options& options, kit::Report& report) {
  const kit::Corpus corpus = kit::grammar_corpus(options.seed, {.sentences = options.smoke ? 500 : 4000});
  const Start hasty = start(false, corpus, options), warm = start(true, corpus, options);
  const double frequencies = loss_of_frequencies(corpus);
  kit::Chart chart{"Training with and without warm-up, same peak learning rate",
                   "step",
                   "loss (mean of ten steps)",
                   {hasty.losses, warm.losses},
                   {{frequencies, "word frequencies alone"}}};
  kit::show(chart, options.out / "warm_up.svg");
  report.check_quoted("the first step's mean move, in learning rates", hasty.first_move, 1, 0.05);
  report.at_most("the last step's mean move, in learning rates", warm.last_move, 0.5);
  report.at_least("loss with the full learning rate − loss with warm-up", hasty.last - warm.last, 1);
  report.at_most("distance of that loss from the loss of word frequencies",
                 std::abs(hasty.last - frequencies), 0.4);
  return hasty.last - warm.last;
}

}  // namespace tapestry::lesson22
