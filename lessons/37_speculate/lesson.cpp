// 37 speculate: guess several tokens cheaply, verify them in one pass
//
// 20 minutes to read, a minute to run. Needs lessons 20 (GPT, sampling) and 35 (caches). Afterwards you can write
// the rule that accepts or rejects a guessed token, and show that it keeps the distribution. You can predict the
// gain from the acceptance rate, and choose between a small model, prompt look-up and a tree of guesses.
//
// A language model generates one token per pass, because each pass needs the token before. But a pass over five
// tokens takes less time than five passes over one: the weights are read once, and each op starts once. Can we use
// this for generation, although we do not know the next five tokens?

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/core.hpp"
#include "lessons/37_speculate/measure.hpp"
#include "lessons/37_speculate/plot.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/transformer/verifiable.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"

using namespace tapestry;
using namespace tapestry::lesson37;

namespace {

using Shares = std::vector<double>;  // a probability for each token of the vocabulary

std::size_t at(Size i) { return static_cast<std::size_t>(i); }

/// Length of the texts with their prompts.
Size text_length(const kit::Options& options) { return options.smoke ? kPrompt + 8 : kContext; }

// ---- 1. Accept or reject one guess ------------------------------------------------------------------------
// Guess the tokens. A small, fast model, the *draft*, guesses the next token. The large model, the *target*, then
// reads the guess and computes its own probabilities, too. If the guess is good, we keep it. The result must have
// exactly the distribution of the target alone, whatever the draft guesses.
//
// Let p be the target's probabilities and q those of the draft. The draft draws the token x from q. Then
// (Leviathan et al. 2023, Chen et al. 2023):
//
//     accept x with probability min(1, p(x) / q(x))
//     after a rejection, draw from the *residual* max(0, p − q), divided by its sum
//
// An example with three tokens a, b and c:
//
//     p                 0.5     0.3     0.2
//     q                 0.2     0.7     0.1
//     min(p, q)         0.2     0.3     0.1      sum 0.6: the probability that a guess is accepted
//     max(0, p − q)     0.3     0       0.1      sum 0.4
//     residual          0.75    0       0.25
//
// How often is the result a? The draft guesses a with probability 0.2, and a is always accepted. With probability
// 0.4 the guess is rejected, and the residual gives a with 0.75. The sum is 0.2 + 0.4 · 0.75 = 0.5 = p(a). The same
// holds for every token: q(x) min(1, p(x)/q(x)) = min(p, q), the rejections have the probability 1 − Σ min(p, q) =
// Σ max(0, p − q), and min(p, q) + max(0, p − q) = p.

/// Returns the index drawn with these weights, for a uniform number in [0, 1).
Size draw(const Shares& weights, double uniform) {
  double left = uniform * std::accumulate(weights.begin(), weights.end(), 0.0);
  Size last = 0;  // rounding can leave a little after the last weight
  for (Size x = 0; x < static_cast<Size>(weights.size()); ++x) {
    if (weights[at(x)] <= 0) continue;
    last = x;
    if (left < weights[at(x)]) break;
    left -= weights[at(x)];
  }
  return last;
}

/// Returns the guess, which was drawn from q, or another token, so that the result has the distribution p.
Size accept_or_redraw(const Shares& p, const Shares& q, Size guess, kit::Random& random) {
  if (random.uniform() * q[at(guess)] < p[at(guess)]) return guess;
  Shares residual;
  for (std::size_t x = 0; x < p.size(); ++x) residual.push_back(std::max(0.0, p[x] - q[x]));
  return draw(residual, random.uniform());
}

// A rejected guess has p(x) < q(x), so its residual is 0. The redrawn token is never the guess.

/// Does the same with a mistake: after a rejection, it draws from p.
Size redraw_from_target(const Shares& p, const Shares& q, Size guess, kit::Random& random) {
  if (random.uniform() * q[at(guess)] < p[at(guess)]) return guess;
  return draw(p, random.uniform());
}

// The program applies a rule 200,000 times and compares the counts n(x) with the expected counts N p(x), by χ² = Σ
// (n − N p)² / (N p). With m tokens, χ² has the mean m − 1 and the standard deviation √(2 (m − 1)) if the
// distribution is right. We print the distance from the mean in standard deviations.

struct Tested {
  double deviations;  ///< distance of χ² from its mean, in standard deviations
  double acceptance;  ///< share of the draws that returned the guess
};

template <class Rule>
Tested test_rule(const Shares& p, const Shares& q, Rule rule, std::uint64_t seed) {
  constexpr Size kDraws = 200000;
  kit::Random random(seed, 37);
  Shares counts(p.size(), 0.0);
  Size accepted = 0;
  for (Size i = 0; i < kDraws; ++i) {
    const Size guess = draw(q, random.uniform()), token = rule(p, q, guess, random);
    counts[at(token)] += 1;
    accepted += token == guess ? 1 : 0;
  }
  // Tokens with an expected count below 20 are one class, because χ² is a normal approximation.
  double chi2 = 0, classes = 0, rare_counts = 0, rare = 0;
  const auto add = [&](double count, double expected) {
    chi2 += (count - expected) * (count - expected) / expected;
    classes += 1;
  };
  for (std::size_t x = 0; x < p.size(); ++x) {
    const double expected = static_cast<double>(kDraws) * p[x];
    if (expected >= 20) {
      add(counts[x], expected);
    } else {
      rare_counts += counts[x];
      rare += expected;
    }
  }
  if (rare >= 20) add(rare_counts, rare);
  return {(chi2 - (classes - 1)) / std::sqrt(2 * (classes - 1)),
          static_cast<double>(accepted) / static_cast<double>(kDraws)};
}

/// Returns Σ min(p, q), the probability that a guess from q is accepted.
double expected_acceptance(const Shares& p, const Shares& q) {
  double sum = 0;
  for (std::size_t x = 0; x < p.size(); ++x) sum += std::min(p[x], q[x]);
  return sum;
}

void one_guess(const kit::Options& options, kit::Report& report) {
  const kit::Question mistake = report.ask(
      "draw from p after a rejection",
      "After a rejection, a program draws from p and not from the residual. Which tokens are too frequent then?",
      {"none, because p is the right distribution", "those that the draft overrates, q > p",
       "those that the draft underrates, q < p"});
  const Shares p{0.5, 0.3, 0.2}, q{0.2, 0.7, 0.1};
  const double accepted = expected_acceptance(p, q);
  kit::check_worked_example(report, "one guess",
                            {{accepted, 0.6},
                             {1 - accepted, 0.4},
                             {(p[0] - q[0]) / (1 - accepted), 0.75},
                             {(p[2] - q[2]) / (1 - accepted), 0.25}});
  const Tested right = test_rule(p, q, accept_or_redraw, options.seed);
  report.at_most("χ² of the rule, distance from its mean", right.deviations, 5, "standard deviations");
  report.at_most("accepted share minus Σ min(p, q)", std::abs(right.acceptance - accepted), 0.01);
  const Tested wrong = test_rule(p, q, redraw_from_target, options.seed);
  report.at_least("χ² with the mistake, distance from its mean", wrong.deviations, 100,
                  "standard deviations");
  const double overrated = std::min(p[1], q[1]) + (1 - accepted) * p[1];
  report.answer(
      mistake, 'b', wrong.deviations >= 100 && overrated > p[1],
      "b is accepted with the probability 0.3 already, which is p(b). Each redraw that gives b is too much.");
}

// ---- 2. A large model and a small one ---------------------------------------------------------------------
// Both models are GPTs from lesson 20 with rotary positions. They learn the characters of this course's text. The
// target has eight blocks of width 48 and the draft one block of width 32. With such narrow blocks, a pass of the
// target spends much of its time on starting ops. So a pass over a few tokens takes less time than as many passes
// over one. (In a large model, reading the weights from memory has the same effect.)

void train(LanguageModel& model, const Ids& text, Size steps, std::uint64_t seed) {
  constexpr Size kBatch = 4;
  AdamW adam(model.parameters(), {.learning_rate = 5e-3, .beta2 = 0.99, .weight_decay = 0.1});
  const Size rise = std::max<Size>(1, steps / 20);
  const Schedule rate = then(warm_up(rise), rise, cosine_decay(std::max<Size>(1, steps - rise), 0.02));
  kit::Progress progress(steps, {.unit = "characters"});
  model.train();
  for (Size step = 1; step <= steps; ++step) {
    const kit::Random random(seed, static_cast<std::uint64_t>(step));
    const kit::Windows windows = kit::draw_windows(text, random, kBatch, kContext);
    Tape tape;
    const Tensor loss = cross_entropy(model(windows.inputs), windows.targets);
    tape.backward(loss);
    clip_gradients(model.parameters(), 1.0);
    adam.step(rate(step));
    progress.step(loss.item(), static_cast<double>(kBatch * kContext));
  }
  progress.finish();
  model.eval();
}

// ---- 3. Several guesses, one pass -------------------------------------------------------------------------
// The draft guesses g tokens, each after the ones before. It needs g passes, but its passes are short. The target
// reads all of them in one pass and gets g + 1 rows of probabilities: the row before each guess, and one after the
// last. We apply the rule of section 1 to the guesses from left to right. After the first rejection, the later
// guesses follow a token that is not in the text, so we discard them. If no guess is rejected, the last row gives
// one token more.
//
// So each pass of the target adds between 1 and g + 1 tokens. With temperature 0, p and q have a single 1 at the
// likeliest token. Then the rule accepts a guess if it is the target's likeliest token, and no chance is left.

/// Returns the probabilities of the token after each token of the text; (T) → T rows.
std::vector<Shares> probabilities(const LanguageModel& model, const Ids& text, double temperature) {
  const Tensor logits = squeeze(model(Indices(text, {1, static_cast<Size>(text.size())})), 0);
  const Tensor shares = softmax(logits / std::max(temperature, 1e-6), -1);
  std::vector<Shares> rows;
  for (Size t = 0; t < shares.size(0); ++t) rows.push_back(select(shares, 0, t).to_vector());
  return rows;
}

/// Returns the tokens that one pass of the target adds to the text, from 1 to `guesses` + 1.
Ids one_round(const LanguageModel& target, const LanguageModel& small, const Ids& text, Size guesses,
              double temperature, kit::Random& random) {
  Ids guessed = text;
  std::vector<Shares> q;
  for (Size i = 0; i < guesses; ++i) {
    q.push_back(probabilities(small, guessed, temperature).back());
    guessed.push_back(draw(q.back(), random.uniform()));
  }
  const std::vector<Shares> p = probabilities(target, guessed, temperature);  // one pass
  Ids added;
  for (std::size_t i = 0; i < q.size(); ++i) {
    const Size guess = guessed[text.size() + i];
    added.push_back(accept_or_redraw(p[text.size() - 1 + i], q[i], guess, random));
    if (added.back() != guess) return added;
  }
  added.push_back(draw(p.back(), random.uniform()));
  return added;
}

void rounds(const LanguageModel& target, const LanguageModel& small, const std::vector<Ids>& prompts,
            const kit::Options& options, kit::Report& report) {
  constexpr Size kGuesses = 4;
  const Shares p = probabilities(target, prompts[0], 1).back(),
               q = probabilities(small, prompts[0], 1).back();
  const Tested tested = test_rule(p, q, accept_or_redraw, options.seed);
  report.at_most("χ² with the two models, distance from its mean", tested.deviations, 5,
                 "standard deviations");
  report.at_most("accepted share minus Σ min(p, q) of the two models",
                 std::abs(tested.acceptance - expected_acceptance(p, q)), 0.01);

  const SamplingOptions greedy{.max_length = text_length(options) - kPrompt, .temperature = 0};
  const auto written =
      measure({one_by_one(target), with_model("nn/", target, small, {1, 1, 1, 1})}, {prompts[0]}, greedy, 1);
  Ids text = prompts[0];
  kit::Random random(options.seed, 4);
  while (static_cast<Size>(text.size()) < text_length(options))
    for (const std::int64_t token : one_round(target, small, text, kGuesses, 0, random))
      text.push_back(token);
  text.resize(at(text_length(options)));
  report.check("temperature 0: the rounds by hand write the target's greedy text",
               Ids(text.begin() + kPrompt, text.end()) == written[0].texts[0]);
  report.check("temperature 0: so does speculate() of nn/", written[1].texts[0] == written[0].texts[0]);

  // How many of four guesses are accepted?
  std::vector<double> counts(at(kGuesses + 1), 0.0);
  for (const Ids& prompt : prompts) {
    text = prompt;
    while (static_cast<Size>(text.size()) + kGuesses < text_length(options)) {
      const Ids added = one_round(target, small, text, kGuesses, 1, random);
      counts[added.size() - 1] += 1;
      text.insert(text.end(), added.begin(), added.end());
    }
  }
  show_accepted(counts, options.out / "accepted.svg");
}

// The picture shows the share of the rounds with 0, 1, 2, 3 and 4 accepted guesses. Many rounds accept all four
// guesses, because some characters are easy for both models: the rest of a word that has begun. This program reads
// the whole text in each pass, for simplicity. nn/'s speculate() keeps the keys and values of both models in
// caches (lesson 35), and removes those of rejected guesses.

// ---- 4. How many guesses? ---------------------------------------------------------------------------------
// Let α be the probability that a guess is accepted. If it is the same for all guesses and they are independent,
// then all of the first i guesses are accepted with probability α^i. The expected number of tokens per pass is
//
//     1 + α + α² + … + α^g = (1 − α^{g+1}) / (1 − α)
//
// For α = 0.6 and g = 4 this is 2.31. As g grows, it approaches 1 / (1 − α) = 2.5. So longer drafts soon gain
// nothing. But they have a price. If a pass of the draft takes the share c of a target's pass, a round takes as
// long as g c + 1 of them. So the speed-up is the expected number divided by g c + 1. This assumes that the
// target's pass over g + 1 tokens takes as long as over one. In our small target it takes longer. So the program
// prints a second prediction as well, with the measured time of this pass.
//
// At seed 1, the acceptance with four guesses is 0.706. A pass then adds 2.794 tokens, and the formula says 2.806.
// In a text the guesses are not independent, because easy and hard places alternate, but the formula is close.

void draft_lengths(const LanguageModel& target, const LanguageModel& small, const std::vector<Ids>& prompts,
                   const kit::Options& options, kit::Report& report) {
  const kit::Question longer = report.ask(
      "eight guesses",
      "With four guesses per pass, we get a certain number of tokens per pass. How many do we get with eight?",
      {"about twice as many", "less than 1.4 times as many", "fewer, because more guesses are rejected"});
  kit::check_worked_example(report, "tokens per pass",
                            {{expected_words_per_pass(0.6, 4), 2.31}, {1 / (1 - 0.6), 2.5}});
  const std::vector<Size> lengths{1, 2, 3, 4, 6, 8};
  std::vector<Writer> writers{one_by_one(target)};
  for (const Size g : lengths)
    writers.push_back(with_model(fmt::format("{} guesses", g), target, small, std::vector<Size>(at(g), 1)));
  const auto results =
      measure(writers, prompts, {.max_length = text_length(options) - kPrompt, .seed = options.seed},
              options.smoke ? 1 : 3);
  const Costs costs{seconds_of_pass(target, 1, 20), seconds_of_pass(small, 1, 20)};
  std::vector<Prediction> predictions;
  double farthest = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const SpeculationStatistics& counts = results[i + 1].counts;
    const double words = expected_words_per_pass(counts.acceptance(), lengths[i]);
    const double guesses = static_cast<double>(lengths[i]) * costs.draft;
    predictions.push_back({words, words * costs.target / (guesses + costs.target),
                           words * costs.target / (guesses + seconds_of_pass(target, lengths[i] + 1, 20))});
    farthest = std::max(farthest, std::abs(counts.words_per_pass() / words - 1));
  }
  print_lengths(lengths, results, predictions);
  draw_lengths(lengths, results, predictions, options.out / "lengths.svg");
  report.figure("draft's pass ÷ target's pass, c", costs.draft / costs.target);
  report.at_most("tokens per pass: largest difference from the formula", 100 * farthest, 20, "%");
  const double four = results[4].counts.words_per_pass(), eight = results[6].counts.words_per_pass();
  report.at_least("tokens per pass with four guesses", four, 1.8);
  report.answer(longer, 'b', eight >= four * 0.9 && eight < 1.4 * four,
                "The fifth guess counts only if the four before are accepted, so later guesses add little.");
}

// ---- 5. Prompt look-up, and a tree of guesses --------------------------------------------------------------
// A draft need not be a model. *Prompt look-up* (Saxena 2023) searches the text for an earlier place with the same
// last n tokens, and guesses the tokens that followed there. It costs almost nothing. The guesses are chosen
// without chance, so q is 1 at the guess. Then the rule accepts it with probability p(x), and the residual is p
// without x.

/// Returns up to `count` tokens that followed the last earlier place with the same last `n` tokens.
Ids look_up(const Ids& text, Size n, Size count) {
  const Size length = static_cast<Size>(text.size());
  for (Size end = length - 1; end >= n; --end)
    if (std::equal(text.end() - n, text.end(), text.begin() + end - n))
      return Ids(text.begin() + end, text.begin() + std::min(length, end + count));
  return {};
}

// It helps if the text repeats itself: in a summary that quotes, in a program that is edited, or in our greedy
// text, which repeats phrases (lesson 20). At temperature 1 our text repeats little, so look-up gains little there.
//
// Instead of one chain, the draft can guess a tree: two tokens after the text, and two after each of these. The
// target verifies the whole tree in one pass (Miao et al. 2024). For this, a token attends to itself and its
// ancestors only, and its position is its depth in the tree. If the first of two siblings is rejected, the
// residual becomes the new p, and the rule is applied to the second one.

/// Returns true if token i of a tree sees token j. parents[i] is the token before i, −1 for the first. A parent
/// comes before its children.
bool sees(const std::vector<Size>& parents, Size i, Size j) {
  while (i > j) i = parents[at(i)];
  return i == j;
}

void trees(const LanguageModel& target, const Ids& prompt, kit::Report& report) {
  // Two tokens after the prompt, and two after each of them.
  constexpr Size kTree = 6, kAll = kPrompt + kTree;
  std::vector<Size> parents(at(kPrompt)), depths(at(kPrompt));
  std::iota(parents.begin(), parents.end(), -1);
  std::iota(depths.begin(), depths.end(), 0);
  for (const Size parent : {-1, -1, 0, 0, 1, 1}) {
    parents.push_back(kPrompt + parent);
    depths.push_back(depths[at(parents.back())] + 1);
  }
  Ids tokens = prompt;
  for (Size i = 0; i < kTree; ++i) tokens.push_back(prompt[at(i)]);
  const Mask mask = Mask::from(kAll, kAll, [&](Size i, Size j) { return sees(parents, i, j); });
  StackCache cache = target.cache(kAll);
  const Tensor in_one_pass = squeeze(target(Indices(tokens, {1, kAll}), cache, mask, depths), 0);
  double farthest = 0;
  for (Size node = kPrompt; node < kAll; ++node) {
    Ids path;
    for (Size i = node; i >= 0; i = parents[at(i)]) path.insert(path.begin(), tokens[at(i)]);
    const Tensor alone = squeeze(target(Indices(path, {1, static_cast<Size>(path.size())})), 0);
    const Tensor expected = select(alone, 0, alone.size(0) - 1);
    farthest = std::max(farthest, max(abs(select(in_one_pass, 0, node) - expected)).item());
  }
  report.check("the tree in one pass has the logits of its six texts", farthest < 1e-3);
}

void other_drafts(const LanguageModel& target, const LanguageModel& small, const std::vector<Ids>& prompts,
                  const kit::Options& options, kit::Report& report) {
  const std::vector<Writer> writers{one_by_one(target), with_model("chain of 2", target, small, {1, 1}),
                                    with_model("tree of 2, 2", target, small, {2, 2}),
                                    with_lookup("look-up of 4", target, 3, 4),
                                    with_lookup("look-up of 8", target, 3, 8)};
  UniformDraws unused{Stream(1, 1)};
  bool equal = true;
  for (const Ids& prompt : prompts)
    equal =
        equal && (look_up(prompt, 1, 4) == PromptLookup(1, 4).propose(prompt, kContext, {}, unused).words);
  report.check("look-up by hand gives the guesses of nn/", equal);
  const kit::Question best = report.ask(
      "look-up at two temperatures",
      "Prompt look-up guesses eight tokens. At which temperature does a pass add more tokens?",
      {"at temperature 0", "at temperature 1", "equally many, because the rule keeps the distribution"});
  std::vector<double> look_ups;
  for (const double temperature : {1.0, 0.0}) {
    const auto results = measure(
        writers, prompts,
        {.max_length = text_length(options) - kPrompt, .temperature = temperature, .seed = options.seed},
        options.smoke ? 1 : 5);
    print_drafts(fmt::format("temperature {}", temperature), results);
    look_ups.push_back(results[4].counts.words_per_pass());
    if (temperature > 0) {
      report.at_least("tree: tokens per pass minus those of the chain",
                      results[2].counts.words_per_pass() - results[1].counts.words_per_pass(), 0.03);
    } else {
      bool same = true;
      for (const Measured& result : results) same = same && result.texts == results[0].texts;
      report.check("temperature 0: every draft gives the target's greedy text", same);
      report.at_least("look-up at temperature 0: tokens per pass", look_ups.back(), 2.5);
      report.figure("look-up at temperature 0: speed ÷ speed without a draft",
                    results[0].seconds / std::min(results[3].seconds, results[4].seconds));
    }
  }
  report.answer(
      best, 'a', look_ups[1] > look_ups[0],
      "The greedy text repeats itself, and look-up then guesses right. The rule keeps the distribution of the "
      "text, but the gain depends on the text.");
}

// At seed 1, look-up of eight tokens adds 1.204 tokens per pass at temperature 1 and 3.930 at temperature 0. The
// chain of two guesses adds 2.137 at temperature 1, and the tree adds 2.387: its second branches catch some of the
// rejections. At temperature 0 the tree equals the chain here, because both siblings are the draft's likeliest
// token. The tree's pass has more tokens, so more tokens per pass need not mean more speed. Compare the printed
// speeds.
//
// The largest speed-up is that of look-up at temperature 0, and it needs a text that repeats itself. The small
// model gains less here: its passes are not cheap enough, and the arithmetic of our target's pass grows with the
// guesses.
//
// What to remember. A draft guesses several tokens, and the target verifies them in one pass. Accept a guess with
// probability min(1, p/q), and otherwise draw from the residual max(0, p − q): then the text has the distribution
// of the target. A guess is accepted with the probability Σ min(p, q). The gain is (1 − α^{g+1}) / (1 − α) tokens
// per pass, divided by the cost of a round. So a draft must be both right and cheap, and a pass over several
// tokens must cost little more than a pass over one.
//
// Exercises: lessons/practise 37 (the rule for one guess; find the mistake in a round; tokens per pass; a tree
// within a budget).

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("37_speculate", "guess several tokens cheaply, verify them in one pass");
  program.steps(400, 2);
  program.takes_data(
      "a UTF-8 text file to train on instead of the course's text, which the targets are made for");
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    report.section("Accept or reject one guess");
    one_guess(options, report);
    report.section("A large model and a small one");
    const kit::CharCorpus corpus = kit::read_characters_or_course(options.data, 0.1, kContext);
    if (!options.data.empty()) report.part_of_lesson();
    const Size vocabulary = corpus.characters.size();
    LanguageModel target(model_options(8, 48, vocabulary)), small(model_options(1, 32, vocabulary));
    target.initialise(options.seed);
    small.initialise(options.seed + 1);
    train(target, corpus.train, options.steps, options.seed);
    train(small, corpus.train, options.steps, options.seed);
    report.figure("target: loss per character on the last tenth",
                  kit::loss_per_character(target, corpus.valid, kContext), "nats");
    report.figure("draft: loss per character on the last tenth",
                  kit::loss_per_character(small, corpus.valid, kContext), "nats");
    const std::vector<Ids> prompts = prompts_of(corpus.valid, options.smoke ? 1 : 6);
    report.section("Several guesses, one pass");
    rounds(target, small, prompts, options, report);
    report.section("How many guesses?");
    draft_lengths(target, small, prompts, options, report);
    report.section("Prompt look-up, and a tree of guesses");
    trees(target, prompts[0], report);
    other_drafts(target, small, prompts, options, report);
  });
}
