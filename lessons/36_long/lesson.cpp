// 36 long: what breaks beyond the trained length, and what does not
//
// 20 minutes to read, a minute to run. Needs lessons 17 (rotary positions), 20 (GPT) and 13 (windows). Afterwards
// you can say which rotary angles of a long text a model has never seen. You can change the frequencies with
// interpolation, NTK scaling and YaRN, and measure the loss with each of them before and after a short fine-tuning.
// You can also use a sliding window for texts of any length.
//
// A language model is trained on texts of a limited length. Nothing in rotary attention stops it from reading longer
// texts: the formula takes any position. Does the model still predict well in longer texts? If not, what is the
// cheapest way to extend its context?

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "core/core.hpp"
#include "lessons/36_long/measure.hpp"
#include "lessons/36_long/plot.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/tensors.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"

using namespace tapestry;
using namespace tapestry::lesson36;

namespace {

// ---- 1. Rotary pairs that never complete a turn -----------------------------------------------------------
// Rotary positions (lesson 17) rotate each pair of components of a query or key at position p by the angle p θ_i. The
// score of a query at p and a key at j then depends on their distance p − j, and not on p and j separately: pair i
// contributes a cos((p − j) θ_i) + b sin((p − j) θ_i), where a and b depend on the components of the query and the
// key before the rotation. We call θ_i, in radians per position, the *frequency* of the pair. Our heads have 16
// components, so there are eight pairs. With the usual base, θ_i = 10000^{−i/8}. One full turn takes 2π / θ_i
// positions, the *wavelength*:
//
//     pair                0       1       2       3       4        5       6        7
//     θ_i                 1    0.32     0.1   0.032    0.01   0.0032   0.001   0.0003
//     wavelength        6.3    19.9    62.8   198.7   628.3    1,987   6,283   19,869
//
// We train on texts of 64 characters. If a pair completes a turn within 64 positions, the model has seen all its
// angles. The slower pairs never complete one. For example, pair 3 turns by at most 63 θ_3 = 1.99 radians, about a
// third of a turn. At the distance 150, its angle is 150 θ_3 = 4.74 radians. The model never saw this combination of
// cosine and sine in training, so its weights were never adjusted to it.
//
// Many methods change the frequencies, so that a text s times as long needs few or no new angles. We use
// s = 512 / 64 = 8. We try three of them:
//
//     interpolation    θ_i / s for every pair (Chen et al. 2023)
//     NTK              base · s^{w/(w−2)} in place of base, for w components. θ_0 is unchanged, the smallest
//                      frequency is divided by s, and the others by a factor between 1 and s ("NTK-aware",
//                      after the neural tangent kernel; bloc97 2023)
//     YaRN             "yet another RoPE extension" (Peng et al. 2023). Pairs with many turns in the trained length
//                      keep θ_i. Pairs with few turns get θ_i / s. In between, a *ramp* interpolates between θ_i and
//                      θ_i / s, linearly in the number of turns. Queries and keys are also multiplied by
//                      0.1 ln s + 1, which sharpens the softmax. RotaryPositions in nn/ does this
//
// Interpolation has a price. In pair 0, neighbouring positions differed by 1 radian in training, and now they differ
// by 1/8 radian. So the angles for the nearest characters, which matter most, all differ from those in training. YaRN
// can keep the frequencies of the fast pairs, which measure these short distances, and NTK changes them little. NTK
// has a price, too: only the slowest frequency is divided by 8. The frequency of pair 3 is divided by only 2.4. So
// beyond 2.4 times the trained length, the angles of pair 3 are new.

/// Frequencies of all pairs of a head after scaling by `s`. YaRN keeps the frequencies of pairs with `fast` turns or
/// more in the trained length, and divides those of pairs with `slow` turns or fewer by `s`.
std::vector<double> frequencies_by_hand(RotaryScaling scaling, double s, double slow, double fast) {
  constexpr double kPairs = kHeadWidth / 2;
  const double base = scaling == RotaryScaling::ntk ? 10000 * std::pow(s, kPairs / (kPairs - 1)) : 10000;
  std::vector<double> thetas;
  for (double i = 0; i < kPairs; ++i) {
    const double theta = std::pow(base, -i / kPairs);
    const double turns = kTrained * theta / (2 * std::numbers::pi);
    const double kept = scaling == RotaryScaling::linear ? 0
                        : scaling == RotaryScaling::yarn
                            ? std::clamp((turns - slow) / (fast - slow), 0.0, 1.0)
                            : 1;
    thetas.push_back(kept * theta + (1 - kept) * theta / s);
  }
  return thetas;
}

/// Options of nn/ for a scaling from kTrained to kLong. `slow` and `fast` are for YaRN alone.
RotaryOptions scaled(RotaryScaling scaling, double slow = 1, double fast = 32) {
  RotaryOptions options{.scaling = scaling, .trained_length = kTrained, .fast = fast, .slow = slow};
  if (scaling != RotaryScaling::none) options.factor = static_cast<double>(kLong) / kTrained;
  return options;
}

void waves(kit::Report& report) {
  const kit::Question turns =
      report.ask("full turns",
                 "A text has 64 characters. How many of the eight pairs complete a full "
                 "turn in it?",
                 {"all eight", "five", "three"});
  const std::vector<double> plain = frequencies_by_hand(RotaryScaling::none, 1, 1, 32);
  const auto complete = std::count_if(plain.begin(), plain.end(),
                                      [](double theta) { return theta * kTrained >= 2 * std::numbers::pi; });
  const auto wavelength = [&](std::size_t i) { return 2 * std::numbers::pi / plain[i]; };
  kit::check_worked_example(report, "frequencies",
                            {{plain[1], 0.32},
                             {plain[2], 0.1},
                             {plain[3], 0.032},
                             {plain[4], 0.01},
                             {plain[5], 0.0032},
                             {plain[6], 0.001},
                             {plain[7], 0.0003}});
  kit::check_worked_example(report, "wavelengths",
                            {{wavelength(0), 6.3},
                             {wavelength(1), 19.9},
                             {wavelength(2), 62.8},
                             {wavelength(3), 198.7},
                             {wavelength(4), 628.3},
                             {wavelength(5), 1987},
                             {wavelength(6), 6283},
                             {wavelength(7), 19869}});
  const double slower = plain[3] / frequencies_by_hand(RotaryScaling::ntk, 8, 1, 32)[3];
  kit::check_worked_example(report, "pair 3", {{63 * plain[3], 1.99}, {150 * plain[3], 4.74}, {slower, 2.4}});
  double farthest = 0;
  for (const RotaryScaling scaling :
       {RotaryScaling::none, RotaryScaling::linear, RotaryScaling::ntk, RotaryScaling::yarn}) {
    const RotaryOptions options = scaled(scaling, 0.5, 4);
    const std::vector<double> by_hand = frequencies_by_hand(scaling, options.factor, 0.5, 4);
    const std::vector<double> by_nn =
        RotaryPositions(Parent{}, {.head_width = kHeadWidth}, options).frequencies(kHeadWidth);
    for (std::size_t i = 0; i < by_hand.size(); ++i)
      farthest = std::max(farthest, std::abs(by_hand[i] / by_nn[i] - 1));
  }
  report.check("the frequencies by hand equal those of nn/, for each scaling", farthest < 1e-12);
  report.answer(
      turns, 'c', complete == 3,
      "Pairs 0, 1 and 2 do: their wavelengths are 6.3, 19.9 and 62.8 characters. The wavelengths of the "
      "other pairs are longer than the text.");
}

// ---- 2. Train at 64, test at 512 --------------------------------------------------------------------------
// The model is a small GPT from lesson 20 with rotary positions: two blocks of width 64. It is trained on the
// characters of this course's text, in excerpts of 64 characters. (The code calls an excerpt a window. The
// sliding window of section 4 is something else.) We hold out the end of the text as the test set. Its excerpts have
// 512 characters, and we measure the loss at each position.

struct Plan {
  Size steps, batch, length;  ///< training steps, windows per step, characters per window
  double rate;                ///< learning rate
  bool decays;                ///< true: warm-up and cosine decay; false: constant rate
  std::uint64_t seed;         ///< seed of the windows
};

void train(LanguageModel& model, const Ids& text, const Plan& plan) {
  AdamW adam(model.parameters(), {.learning_rate = plan.rate, .beta2 = 0.99, .weight_decay = 0.1});
  const Size rise = std::max<Size>(1, plan.steps / 20);
  const Schedule rate =
      plan.decays ? then(warm_up(rise), rise, cosine_decay(std::max<Size>(1, plan.steps - rise), 0.02))
                  : constant_rate();
  kit::Progress progress(plan.steps, {.unit = "characters"});
  model.train();
  for (Size step = 1; step <= plan.steps; ++step) {
    const kit::Random random(plan.seed, static_cast<std::uint64_t>(step));
    const kit::Windows windows = kit::draw_windows(text, random, plan.batch, plan.length);
    Tape tape;
    const Tensor loss = cross_entropy(model(windows.inputs), windows.targets);
    tape.backward(loss);
    clip_gradients(model.parameters(), 1.0);
    adam.step(rate(step));
    progress.step(loss.item(), static_cast<double>(plan.batch * plan.length));
  }
  progress.finish();
}

// Rotary positions and sliding windows have no learned parameters. So we can load the same trained parameters into a
// model with other frequencies, or with a sliding window, without further training.

using Model = std::unique_ptr<LanguageModel>;

/// Returns a model that applies `method` and has the parameters of `trained`.
Model with_method(const Method& method, const LanguageModel& trained) {
  auto model = std::make_unique<LanguageModel>(model_options(method, trained.output.weight.size(0)));
  model->load_state(trained.state());
  return model;
}

/// The ways to change the frequencies. kPlain changes nothing. kYarn has the ramp of the paper, from 1 to 32 turns.
/// kYarnNarrow has a ramp from ½ to 4 turns.
enum Scaling { kPlain, kLinear, kNtk, kYarn, kYarnNarrow };
const std::vector<Method> kScalings = {
    {.name = "as it is", .rotary = scaled(RotaryScaling::none)},
    {.name = "interpolation by 8", .rotary = scaled(RotaryScaling::linear)},
    {.name = "NTK by 8", .rotary = scaled(RotaryScaling::ntk)},
    {.name = "YaRN by 8, ramp 1 to 32", .rotary = scaled(RotaryScaling::yarn)},
    {.name = "YaRN by 8, ramp 1/2 to 4", .rotary = scaled(RotaryScaling::yarn, 0.5, 4)},
};

std::vector<Curve> read_longer(const LanguageModel& trained, const kit::Windows& tests,
                               const kit::Options& options, kit::Report& report) {
  std::vector<Curve> curves;
  for (const Method& method : kScalings)
    curves.push_back({method.name, loss_by_position(*with_method(method, trained), tests)});
  print_curves("loss at positions, no fine-tuning", curves);
  draw_curves("Trained at 64 characters, read to 512", curves, options.out / "scalings.svg");
  const double near = curves[kPlain].in(0);
  report.at_least("as it is: loss at 256-512 minus loss at 32-64", curves[kPlain].in(3) - near, 1.5, "nats");
  report.at_most("NTK: loss at 64-128 minus loss as it is at 32-64", curves[kNtk].in(1) - near, 0.45, "nats");
  report.at_least("NTK: loss at 256-512 minus loss as it is at 32-64", curves[kNtk].in(3) - near, 1.5,
                  "nats");
  report.at_least("YaRN, ramp 1/2 to 4: loss at 256-512 minus loss as it is at 32-64",
                  curves[kYarnNarrow].in(3) - near, 0.5, "nats");
  report.at_least("interpolation: loss at 32-64 minus loss as it is", curves[kLinear].in(0) - near, 1,
                  "nats");
  report.at_least("YaRN, ramp 1 to 32: loss at 32-64 minus loss as it is", curves[kYarn].in(0) - near, 1,
                  "nats");
  return curves;
}

// At seed 1, these are the mean losses in nats over four ranges of positions:
//
//                                  32-64    64-128   128-256   256-512
//     as it is                     1.385     1.805     3.563     4.000
//     interpolation by 8           3.891     3.813     3.869     3.860
//     NTK by 8                     1.528     1.672     1.864     3.432
//     YaRN by 8, ramp 1 to 32      3.691     3.720     3.743     3.740
//     YaRN by 8, ramp 1/2 to 4     2.205     2.277     2.364     2.438
//
// Begin with the first row, without scaling. The positions 32 to 64 are within the trained length. Beyond 64 the loss
// grows, and from 128 on it is far larger: at distances of 64 or more, the slow pairs reach angles that no training
// text had.
//
// With NTK scaling, the loss is slightly larger at 32 to 64 and still small at 64 to 128. But at 256 to 512 it is
// large, although the factor 8 = 512 / 64 was chosen for this length: at these distances, the angles of pair 3 are new.
//
// With interpolation and YaRN, the slow pairs reach no new angle, and yet the loss is large at every position, even
// within 64. The reason is that each distance now has other angles than in training. In our model, YaRN with a ramp
// from 1 to 32 turns hardly differs from interpolation: even the fastest pair makes only 10 turns in 64 characters,
// so no pair keeps its frequency. We therefore also try a ramp from ½ to 4 turns. It keeps pair 0 and gives a smaller
// loss, but this loss is still large.

// ---- 3. A few steps at the long length --------------------------------------------------------------------
// The authors of interpolation and YaRN report their best results after *fine-tuning*: they train the model for a few
// more steps, on long texts. We do this with three methods, and with the model without scaling. Each step takes four
// excerpts of 512 characters. We measure the loss after 25 steps, and again after 75 more.

struct Tuned {
  Curve after_25, after_100;
};

Tuned fine_tune(const Method& method, const LanguageModel& trained, const Ids& text,
                const kit::Windows& tests, const kit::Options& options) {
  const auto model = with_method(method, trained);
  const auto tune = [&](Size steps, std::uint64_t seed) {
    train(*model, text, {options.smoke ? 1 : steps, 4, kLong, 5e-4, false, seed});
    return loss_by_position(*model, tests);
  };
  Curve first{method.name + ", 25 steps", tune(25, options.seed + 1000)};
  return {first, {method.name + ", 100 steps", tune(75, options.seed + 2000)}};
}

void tune_at_512(const LanguageModel& trained, double near, const Ids& text, const kit::Windows& tests,
                 const kit::Options& options, kit::Report& report) {
  const kit::Question shortest = report.ask(
      "25 steps",
      "Each method is fine-tuned for 25 steps at 512 characters. Which of these three then has the smallest "
      "loss at positions 256 to 512?",
      {"the model as it is, because the angles of trained distances stay the same", "interpolation by 8",
       "YaRN with a ramp from 1/2 to 4 turns"});
  std::vector<Curve> curves, drawn;
  std::vector<Tuned> tuned;
  for (const Scaling scaling : {kPlain, kLinear, kNtk, kYarnNarrow}) {
    tuned.push_back(fine_tune(kScalings[scaling], trained, text, tests, options));
    drawn.push_back(tuned.back().after_25);
    curves.push_back(tuned.back().after_25);
    curves.push_back(tuned.back().after_100);
  }
  print_curves("loss at positions, fine-tuned at 512", curves);
  draw_curves("After 25 steps of fine-tuning at 512 characters", drawn, options.out / "tuned.svg");
  const auto early = [&](std::size_t i) { return tuned[i].after_25.in(3); };
  const auto later = [&](std::size_t i) { return tuned[i].after_100.in(3); };
  report.at_most("YaRN, 25 steps: loss at 256-512 minus loss at 32-64 before", early(3) - near, 0.3, "nats");
  report.at_least("as it is, 25 steps: loss at 256-512 minus that of YaRN", early(0) - early(3), 0.5, "nats");
  report.at_least("as it is: loss at 256-512 after 25 steps minus after 100", early(0) - later(0), 0.3,
                  "nats");
  report.at_least("as it is, 100 steps: loss at 256-512 minus that of YaRN", later(0) - later(3), 0.03,
                  "nats");
  report.at_least("interpolation, 100 steps: loss at 256-512 minus that as it is", later(1) - later(0), 0.1,
                  "nats");
  report.at_least("NTK, 25 steps: loss at 256-512 minus loss at 128-256", early(2) - tuned[2].after_25.in(2),
                  0.2, "nats");
  report.answer(shortest, 'c', early(3) < std::min({early(0), early(1), early(2)}),
                "YaRN keeps the fast pairs and gives the slow ones no new angles. So the model has little to "
                "relearn.");
}

// At seed 1, these are the losses after the fine-tuning:
//
//                                             32-64    64-128   128-256   256-512
//     as it is, 25 steps                      1.612     1.776     2.271     2.439
//     as it is, 100 steps                     1.468     1.545     1.630     1.697
//     interpolation by 8, 25 steps            2.408     2.346     2.408     2.396
//     interpolation by 8, 100 steps           1.985     2.014     2.045     2.029
//     NTK by 8, 25 steps                      1.489     1.575     1.613     2.167
//     NTK by 8, 100 steps                     1.411     1.499     1.557     1.600
//     YaRN by 8, ramp 1/2 to 4, 25 steps      1.498     1.561     1.628     1.603
//     YaRN by 8, ramp 1/2 to 4, 100 steps     1.398     1.486     1.561     1.521
//
// At seed 1, 25 steps are enough for YaRN: in all four ranges, the loss is between 1.498 and 1.628. Within
// the trained length, that is a little more than before the fine-tuning (section 3).
//
// Without scaling, the model needs more steps to learn the new angles, and after 100 steps its loss is still larger.
// Interpolation changed the angles of every distance, so the model has the most to relearn. With NTK scaling, the loss
// up to position 256 is small after 25 steps. Beyond 256, the model needs more steps.
//
// Without scaling, the loss falls too, and comes closer to that of YaRN. So in this experiment, scaling saves
// training steps. The experiment does not show that scaling reaches a lower loss in the end.

// ---- 4. A sliding window, with and without a sink ---------------------------------------------------------
// Another method leaves the frequencies unchanged. It masks the keys that are too far away: each query attends only
// to the last 64 keys, including its own. This is a *sliding window* (Beltagy et al. 2020). Then no distance is above
// 63, and no angle is new. A cache needs only the last 64 keys and values, however long the text is.
//
// Xiao et al. (2023) report that large models fail with a plain window. The weights of a query sum to 1, so a head
// that needs none of the keys must still put its weight somewhere. Large models learn to put it on the first tokens,
// whatever they are. Such a token is an *attention sink*, and a window hides it. In their experiments, the loss stays
// low if the first few tokens remain visible in addition to the window. This is the rule for a window, with or
// without sinks:

/// Returns true if query i sees key j.
bool visible(Size i, Size j, Size window, Size sinks) { return j <= i && (i - j < window || j < sinks); }

// In our program, a sink keeps its true position. So its distance from the query grows, up
// to 511. (Xiao et al. count the positions within the cache instead, so the distance stays small. We do not try that
// here.)

void windows(const LanguageModel& trained, const Curve& plain, const kit::Windows& tests,
             const kit::Options& options, kit::Report& report) {
  const std::vector<Method> methods = {
      {.name = "window of 64 keys", .window = 64},
      {.name = "window of 63 keys and 1 sink", .window = 63, .sink_tokens = 1},
      {.name = "window of 60 keys and 4 sinks", .window = 60, .sink_tokens = 4},
      {.name = "window of 32 keys", .window = 32}};
  const kit::Question sink =
      report.ask("one sink",
                 "Our model reads 512 characters. Each query sees the last 63 keys and the first key of the "
                 "text. Is the loss smaller than with the last 64 keys alone?",
                 {"yes, the first token is an attention sink", "no, it is larger",
                  "the two losses differ by less than 0.01"});
  const Mask by_hand = Mask::from(kLong, kLong, [](Size i, Size j) { return visible(i, j, 63, 1); });
  std::vector<Curve> curves{plain};
  for (const Method& method : methods)
    curves.push_back({method.name, loss_by_position(*with_method(method, trained), tests)});
  {
    const auto masked = with_method({.name = "mask"}, trained), optioned = with_method(methods[1], trained);
    const Evaluating first(*masked), second(*optioned);
    const Indices one = kit::rows_of(tests.inputs, 0, 1);
    const double farthest = max(abs((*masked)(one, by_hand) - (*optioned)(one))).item();
    report.check("the rule as a mask gives the logits of nn/'s window with a sink", farthest < 1e-3);
  }
  print_curves("loss at positions, no fine-tuning", curves);
  draw_curves("Sliding windows", curves, options.out / "windows.svg");
  const double near = plain.in(0);
  const auto worst = [&](const Curve& curve) { return std::max({curve.in(1), curve.in(2), curve.in(3)}); };
  report.at_most("window of 64: largest loss beyond 64 minus loss at 32-64", worst(curves[1]) - near, 0.25,
                 "nats");
  const double harm = curves[2].in(3) - curves[1].in(3);
  report.at_least("one sink: loss at 256-512 minus that of the window alone", harm, 0.05, "nats");
  report.at_least("four sinks: loss at 256-512 minus that of the window alone",
                  curves[3].in(3) - curves[1].in(3), 0.05, "nats");
  report.at_most("window of 32: loss at 256-512 minus that of the window of 64",
                 curves[4].in(3) - curves[1].in(3), 0.05, "nats");
  report.answer(
      sink, 'b', harm > 0.01,
      "The small model has no attention sink. At distances that the model has never seen, the first "
      "token still gets some weight, and the useful keys lose this weight.");
}

// At seed 1, the losses with windows are:
//
//                                      32-64    64-128   128-256   256-512
//     as it is                         1.385     1.805     3.563     4.000
//     window of 64 keys                1.385     1.485     1.529     1.505
//     window of 63 keys and 1 sink     1.385     1.551     1.644     1.634
//     window of 60 keys and 4 sinks    1.385     1.657     1.850     1.823
//     window of 32 keys                1.384     1.475     1.519     1.495
//
// With the window, the loss is small at every position, without fine-tuning. (It differs a little between the
// columns, because each range contains different characters.) With sinks, the loss is larger. The reason is not
// that fewer recent keys are visible: even with 32 recent keys, the loss is about as small as with 64.

// ---- 5. The weight of the first token ---------------------------------------------------------------------
// Why does the sink not help? We measure the mean weight of the first token, layer by layer, over all heads and over
// the queries at the given positions.

void first_token(const LanguageModel& trained, const kit::Windows& tests, const kit::Options& options,
                 kit::Report& report) {
  const auto plain = with_method(kScalings[kPlain], trained);
  const auto sink = with_method({.name = "sink", .window = 63, .sink_tokens = 1}, trained);
  const std::vector<FirstToken> rows = {
      {"as it is, at 32-64", first_token_weight(*plain, tests, 32, 64)},
      {"as it is, at 256-512", first_token_weight(*plain, tests, 256, 512)},
      {"with a sink, at 256-512", first_token_weight(*sink, tests, 256, 512)}};
  draw_first_token(rows, options.out / "first.svg");
  const auto largest = [](const FirstToken& row) {
    return *std::max_element(row.by_layer.begin(), row.by_layer.end());
  };
  report.at_most("as it is, at 32-64: largest weight of the first token", 100 * largest(rows[0]), 1.5, "%");
  report.at_least("with a sink: this weight at 256-512 ÷ the weight at 32-64",
                  largest(rows[2]) / largest(rows[0]), 3);
}

// At seed 1, the first token has these mean weights:
//
//     queries                     layer 1    layer 2
//     as it is, at 32-64           0.0029     0.0010
//     as it is, at 256-512         0.0036     0.0014
//     with a sink, at 256-512      0.0228     0.0691
//
// A query at the positions 32 to 64 sees 48 keys on average, so an average key has the weight 1/48, about 2 %. The
// first token gets less than a third of one percent. So our small model has no attention sink. If the first token
// stays visible, its distance from a query at 256-512 is at least 256. Such a distance never occurred in
// training, so its angles are new. There the first token gets many times the weight that it has at 32-64: about 8
// times in layer 1 and about 70 times in layer 2. The model has not learned to use this token, so its value can only
// disturb the result. A window without sinks avoids this.
//
// What to remember. Rotary attention accepts any position, but a pair that never completed a turn in training has new
// angles in a longer text. Without fine-tuning, NTK scaling works well up to about twice the trained length, and
// still helps beyond it. Interpolation and YaRN need fine-tuning; for YaRN, a few steps are enough. With a sliding
// window of the trained length, no distance is new, and the loss stays small at every length. But information from
// farther away arrives only through several blocks, one window at a time. Sinks did not help our model, which has not
// learned to use one.
//
// Exercises: lessons/practise 36 (the base of NTK scaling; YaRN's frequencies; a mistake in a cache with a window;
// turns of the rotary pairs; a cache of 16 keys that reaches everything).

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("36_long", "what breaks beyond the trained length, and what does not");
  program.steps(700, 3);
  program.takes_data(
      "a UTF-8 text file to train on instead of the course's text, which the targets are made for");
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    report.section("Rotary pairs that never complete a turn");
    waves(report);
    report.section("Train at 64, test at 512");
    const kit::CharCorpus corpus = kit::read_characters_or_course(options.data, 0.15, kLong);
    if (!options.data.empty()) report.part_of_lesson();
    const kit::Windows tests = long_windows(corpus.valid, options.smoke ? 1 : 32);
    LanguageModel model(model_options(kScalings[kPlain], corpus.characters.size()));
    model.initialise(options.seed);
    train(model, corpus.train, {options.steps, 16, kTrained, 5e-3, true, options.seed});
    const std::vector<Curve> curves = read_longer(model, tests, options, report);
    report.section("A few steps at the long length");
    tune_at_512(model, curves[kPlain].in(0), corpus.train, tests, options, report);
    report.section("A sliding window, with and without a sink");
    windows(model, curves[kPlain], tests, options, report);
    report.section("The weight of the first token");
    first_token(model, tests, options, report);
  });
}
