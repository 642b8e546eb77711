// 37 speculate: guess several tokens cheaply, verify them in one pass
//
// 20 minutes to read, a minute to run. Needs lessons 20 (GPT, sampling) and 35 (caches). Afterwards you can write
// the rule that accepts or rejects a guessed token, and show that it keeps the distribution. You can predict the
// gain from the acceptance rate, and choose between a small model, prompt look-up and a tree of guesses.
//
// A language model generates one token per pass, because each pass needs the token before. But one pass over five
// tokens takes less time than five passes over one token: the weights are read once, and each op starts once. Can we
// use this for generation, although we do not know the next five tokens?

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/core.hpp"
#include "lessons/37_speculate/measure.hpp"
#include "lessons/37_speculate/plot.hpp"
#include "lessons/37_speculate/train.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/transformer/verifiable.hpp"

using namespace tapestry;
using namespace tapestry::lesson37;

namespace {

using Shares = std::vector<double>;  // a probability for each token of the vocabulary

std::size_t at(Size i) { return static_cast<std::size_t>(i); }

/// Length of the texts with their prompts.
Size text_length(const kit::Options& options) { return options.smoke ? kPrompt + 8 : kContext; }

// ---- 1. Accept or reject one guess ------------------------------------------------------------------------
// We guess the tokens. A small, fast model, the *draft*, guesses the next token. The large model, the *target*,
// computes its own probabilities for the same position. A rule then accepts or rejects the guess. The result must
// have exactly the distribution of the target alone, whatever the draft guesses.
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
// 0.4 the guess is rejected, and then the residual gives a with probability 0.75. The sum is 0.2 + 0.4 · 0.75 = 0.5,
// which is p(a).
//
// The same holds for every token x. It is guessed and accepted with probability q(x) min(1, p(x)/q(x)), which is
// min(p(x), q(x)). A guess is rejected with probability 1 − Σ min(p, q), which is Σ max(0, p − q), the sum that
// divides the residual. So x is redrawn with probability max(0, p(x) − q(x)). Together, these are min(p, q) + max(0,
// p − q) = p.

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

/// Takes a guess that was drawn from q. Returns it or another token, so that the result has the distribution p.
Size accept_or_redraw(const Shares& p, const Shares& q, Size guess, kit::Random& random) {
  if (random.uniform() * q[at(guess)] < p[at(guess)]) return guess;
  Shares residual;
  for (std::size_t x = 0; x < p.size(); ++x) residual.push_back(std::max(0.0, p[x] - q[x]));
  return draw(residual, random.uniform());
}

// If a guess x is rejected, p(x) is less than q(x), so its residual is 0. The redrawn token is never the guess.

/// Does the same, but with a mistake: after a rejection, it draws from p.
Size redraw_from_target(const Shares& p, const Shares& q, Size guess, kit::Random& random) {
  if (random.uniform() * q[at(guess)] < p[at(guess)]) return guess;
  return draw(p, random.uniform());
}

// To test a rule, the program applies it N = 200,000 times and counts how often the result is x, n(x). If the
// distribution is right, n(x) is near N p(x). The sum of the differences, χ² = Σ (n − N p)² / (N p), says how near.
// For m tokens and the right distribution, χ² has about the mean m − 1 and the standard deviation √(2 (m − 1)). We
// print how many standard deviations χ² is above its mean.

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
  return {deviations_of_counts(counts, p), static_cast<double>(accepted) / static_cast<double>(kDraws)};
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
// Both models are GPTs from lesson 20 with rotary positions. They learn the characters of this course's text, as in
// lesson 20 (train.cpp). The target has eight blocks of width 48, and the draft has one block of width 32. With such
// narrow blocks, the target spends much of each pass on starting ops, whatever the number of tokens. So one pass over
// four tokens takes less time than four passes over one token. (A large model spends much of each pass on reading its
// weights from memory, which has the same effect.)

// ---- 3. Several guesses, one pass -------------------------------------------------------------------------
// The draft guesses g tokens, each after the ones before. It needs g passes, but its passes are short. The target
// then reads all g guesses in one pass. It returns g + 1 rows of probabilities: one row for each guess, and one row
// for the token after the last guess.
//
// We apply the rule of section 1 to the guesses from left to right. After a rejection, we discard the later guesses,
// because they follow a token that is not in the text. If no guess is rejected, we draw one more token from the last
// row. So each pass of the target adds between 1 and g + 1 tokens.
//
// With temperature 0, p is 1 at the target's most likely token and 0 elsewhere, and q is 1 at the draft's. Then the
// rule accepts a guess if both tokens are equal. Otherwise it returns the target's token. Nothing is random.

/// Takes a text of T tokens. Returns T rows: row t has the probabilities of the token after token t.
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

// A *round* is one pass of the target with the guesses before it. The picture shows the proportion of the rounds with
// 0, 1, 2, 3 and 4 accepted guesses. In many rounds, either none or all four guesses are accepted. Some characters
// are easy to guess for both models, such as the rest of a word that has begun, and easy characters follow each
// other.
//
// For simplicity, our program reads the whole text in each pass. nn/'s speculate() keeps the keys and values of both
// models in caches (lesson 35), and removes those of rejected guesses.

// ---- 4. How many guesses? ---------------------------------------------------------------------------------
// Let α be the probability that a guess is accepted. Suppose that α is the same for all guesses, and that they are
// independent. Then the first i guesses are all accepted with probability α^i. The expected number of tokens per pass
// is
//
//     1 + α + α² + … + α^g = (1 − α^{g+1}) / (1 − α)
//
// For α = 0.6 and g = 4 this is 2.31. But each guess costs time. Let c be the time of a draft's pass divided by the
// time of a target's pass over one token. A round has g passes of the draft and one of the target, so it takes g c + 1
// times as long as a target's pass. The *speed-up* is the expected number of tokens divided by g c + 1.
//
// This assumes that the target's pass over g + 1 tokens takes as long as a pass over one. In our small target it
// takes longer. So the program prints two predictions of the speed-up: in the column "÷ (g c + 1)" with this
// assumption, and in the column "÷ measured pass" with the measured time of the pass.

void draft_lengths(const LanguageModel& target, const LanguageModel& small, const std::vector<Ids>& prompts,
                   const kit::Options& options, kit::Report& report) {
  const kit::Question longer = report.ask(
      "eight guesses",
      "With four guesses per pass, we get a certain number of tokens per pass. How many do we get with eight?",
      {"about twice as many", "less than 1.4 times as many", "fewer, because more guesses are rejected"});
  kit::check_worked_example(report, "tokens per pass",
                            {{expected_tokens_per_pass(0.6, 4), 2.31}, {1 / (1 - 0.6), 2.5}});
  const std::vector<Size> lengths{1, 2, 3, 4, 6, 8};
  std::vector<Writer> writers{one_by_one(target)};
  for (const Size g : lengths)
    writers.push_back(with_model(fmt::format("{} guesses", g), target, small, std::vector<Size>(at(g), 1)));
  const auto results =
      measure(writers, prompts, {.max_length = text_length(options) - kPrompt, .seed = options.seed},
              options.smoke ? 1 : 3);
  const PassSeconds seconds{seconds_of_pass(target, 1, 20), seconds_of_pass(small, 1, 20)};
  std::vector<Prediction> predictions;
  double farthest = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const SpeculationStatistics& counts = results[i + 1].counts;
    const double tokens = expected_tokens_per_pass(counts.acceptance(), lengths[i]);
    const double guesses = static_cast<double>(lengths[i]) * seconds.draft;
    predictions.push_back(
        {tokens, tokens * seconds.target / (guesses + seconds.target),
         tokens * seconds.target / (guesses + seconds_of_pass(target, lengths[i] + 1, 20))});
    farthest = std::max(farthest, std::abs(counts.tokens_per_pass() / tokens - 1));
  }
  print_lengths(lengths, results, predictions);
  draw_lengths(lengths, results, predictions, options.out / "lengths.svg");
  report.figure("draft's pass ÷ target's pass, c", seconds.draft / seconds.target);
  report.at_most("tokens per pass: largest difference from the formula", 100 * farthest, 20, "%");
  const double four = results[4].counts.tokens_per_pass(), eight = results[6].counts.tokens_per_pass();
  report.at_least("tokens per pass with four guesses", four, 1.8);
  report.answer(longer, 'b', eight >= four * 0.9 && eight < 1.4 * four,
                "The fifth guess counts only if the four before are accepted, so later guesses add little.");
}

// As g grows, the expected number approaches 1 / (1 − α). For α = 0.6 this is 2.5, little more than the 2.31 of four
// guesses.
//
// At seed 1, the acceptance with four guesses is 0.706. A pass then adds 2.794 tokens, and the formula says 2.806. So
// the formula is close, although the guesses are not independent. But the speed-up in the table is at most about 1:
// here the longer passes of the target, and the passes of the draft, take all the time that is saved.

// ---- 5. Prompt look-up, and a tree of guesses --------------------------------------------------------------
// A draft need not be a model. *Prompt look-up* (Saxena 2023) takes the last n tokens of the text, searches for an
// earlier place with the same n tokens, and guesses the tokens that followed there. This takes almost no time. The
// guess x is not random, so q(x) is 1. Then the rule accepts x with probability p(x). The residual is p without x,
// divided by its sum.

/// Finds the last earlier place with the same `n` tokens as the end of the text. Returns up to `count` tokens that
/// followed there, or none if there is no such place.
Ids look_up(const Ids& text, Size n, Size count) {
  const Size length = static_cast<Size>(text.size());
  for (Size end = length - 1; end >= n; --end)
    if (std::equal(text.end() - n, text.end(), text.begin() + end - n))
      return Ids(text.begin() + end, text.begin() + std::min(length, end + count));
  return {};
}

// Look-up helps if the text repeats itself. Examples are a summary with quotations, and a program that is edited.
//
// Instead of one chain, the draft can guess a *tree*: two tokens after the text, and two after each of these. The
// target verifies the whole tree in one pass (Miao et al. 2024). The mask lets a token attend only to itself and to
// its ancestors: the tokens on the path from the start of the text to it. The position of a token is the number of
// its ancestors. If the first of two siblings is rejected, the residual replaces p, and the rule is applied to the
// second one.

/// Returns true if token i of a tree attends to token j. parents[i] is the token before token i, and −1 for the first
/// token of the text. A parent comes before its children.
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
        equal && (look_up(prompt, 1, 4) == PromptLookup(1, 4).propose(prompt, kContext, {}, unused).tokens);
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
    look_ups.push_back(results[4].counts.tokens_per_pass());
    if (temperature > 0) {
      report.at_least("tree: tokens per pass minus those of the chain",
                      results[2].counts.tokens_per_pass() - results[1].counts.tokens_per_pass(), 0.03);
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

// Our greedy text repeats phrases (lesson 20). At temperature 1 our text repeats little, so look-up gains little.
//
// At seed 1, look-up of eight tokens adds 1.204 tokens per pass at temperature 1, and 3.930 at temperature 0. At
// temperature 1, the chain of two guesses adds 2.137 tokens, and the tree adds 2.387: after some rejections, the
// second sibling is accepted. At temperature 0 the tree adds as many tokens as the chain, because both siblings are
// the draft's most likely token.
//
// More tokens per pass need not mean more speed: compare the printed speed-ups. With the tree, the target reads six
// guesses per pass, and the text is written more slowly than one token at a time. With the small model, the speed-up
// is about 1: its passes take too long, and a pass of the target takes longer with more guesses. Only look-up at
// temperature 0 is clearly faster, and it needs a text that repeats itself.
//
// What to remember. A draft guesses several tokens, and the target verifies them in one pass. Accept a guess with
// probability min(1, p/q), and otherwise draw from the residual max(0, p − q). Then the text has the distribution of
// the target. A guess is accepted with probability α = Σ min(p, q). A pass adds (1 − α^{g+1}) / (1 − α) tokens, and
// the speed-up is this number divided by the time of a round. So a draft must be both right and fast, and a pass over
// several tokens must take little longer than a pass over one.
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
