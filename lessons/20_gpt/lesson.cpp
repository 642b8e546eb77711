// 20 gpt: predict the next token
//
// Take the blocks of lesson 19, let none of them look ahead, and ask at every place for the *token* that
// comes next: the next word, character or, here, digit. That is a GPT, a generative pretrained transformer
// (Radford et al. 2018). Nobody has to label anything, since a text is its own answer, and whatever can be
// written as a text becomes a task: here, to sort digits.
//
// You will: 1 build a GPT from plain ops, and check it; 2 begin with a table of pairs and add one part at a
// time, and see what each is good for; 3 let it sort; 4 stop computing the same keys and values again and
// again; 5 choose words from what it predicts. With --data it learns any text instead, character by character
// (--preset large takes 16 minutes and writes better), and --prompt lets it go on from words of yours.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>

#include "core/core.hpp"
#include "lessons/20_gpt/text.hpp"
#include "lessons/20_gpt/training.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "lessons/kit/tasks/sorting.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/embedding.hpp"
#include "nn/sample.hpp"

using namespace tapestry;
using kit::largest;

namespace {

// ---- 1. A GPT from plain ops ------------------------------------------------------------------------------
//
// One head as in lesson 18, with lesson 7's causal mask: place i sees the places j ≤ i. So one pass over a
// text of T tokens answers T questions at once, "what comes after the first one?", "after the first two?", …

Mask no_look_ahead(Size time) {
  return Mask::from(time, time, [](Size i, Size j) { return j <= i; });  // true = may attend
}

Tensor head(const Tensor& x, const Tensor& w_q, const Tensor& w_k, const Tensor& w_v) {
  const Tensor q = matmul(x, transpose(w_q)), k = matmul(x, transpose(w_k)), v = matmul(x, transpose(w_v));
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(2)));  // (B, T, T)
  return matmul(masked_softmax(scores, no_look_ahead(x.size(1))), v);
}

// The whole model, with learned positions (lesson 17) and lesson 19's block, x + heads(norm(x)), then
// x + feed-forward(norm(x)), here without biases. New is the last line. A token's vector says what it means
// where it goes in. The logits ask which token the state means: a dot product with each vector. So one matrix
// E serves at both ends, logits = x Eᵀ (Press and Wolf 2017). The ends are *tied*: that saves a matrix as
// large as the dictionary, and each of E's weights learns at both ends.

using Weights = std::map<std::string, Tensor>;  // by the names that they have in a file

Tensor norm(const Tensor& x, const Weights& w, const std::string& name) {
  const Tensor centred = x - mean(x, {-1}, Keep::yes);
  const Tensor variance = mean(centred * centred, {-1}, Keep::yes);
  return centred / sqrt(variance + 1e-5) * w.at(name + ".weight") + w.at(name + ".bias");
}

/// ids (B, T) → logits (B, T, V). `out` is E again, unless somebody wants to see both ends apart.
Tensor gpt_by_hand(const Weights& w, const Tensor& out, Size layers, Size heads, const Indices& ids) {
  const Tensor& words = w.at("input.words.weight");  // (V, width)
  Tensor x = embedding(words, ids) + slice(w.at("input.positions.weight"), 0, 0, ids.shape()[1]);
  const Size wide = words.size(1) / heads;  // of one head
  for (Size layer = 0; layer < layers; ++layer) {
    const std::string block = fmt::format("stack.blocks.{}.", layer);
    Tensor normed = norm(x, w, block + "self_norm");
    std::vector<Tensor> read;
    for (Size h = 0; h < heads; ++h) {
      const auto part = [&](const char* name) {  // this head's rows of the matrix
        return slice(w.at(fmt::format("{}self.{}.weight", block, name)), 0, h * wide, (h + 1) * wide);
      };
      read.push_back(head(normed, part("query"), part("key"), part("value")));
    }
    x = x + matmul(concat(read, -1), transpose(w.at(block + "self.output.weight")));
    normed = norm(x, w, block + "feed_forward_norm");
    x = x + matmul(gelu(matmul(normed, transpose(w.at(block + "feed_forward.in.weight")))),
                   transpose(w.at(block + "feed_forward.out.weight")));
  }
  return matmul(norm(x, w, "stack.norm"), transpose(out));
}

Indices random_ids(kit::Random random, Size rows, Size time, Size vocabulary) {
  kit::Ids ids;
  for (Size i = 0; i < rows * time; ++i) ids.push_back(random.below(vocabulary));
  return Indices(ids, {rows, time});
}

void show_gpt(std::uint64_t seed, kit::Report& report) {
  constexpr Size kVocabulary = 7, kTime = 6, kLayers = 2, kHeads = 2;
  LanguageModel gpt(kit::language_model_options(
      {.layers = kLayers, .heads = kHeads, .width = 8, .context = kTime}, kVocabulary));
  gpt.initialise(seed, DType::f64);
  const std::vector<Tensor> leaves = gpt.parameters();
  Weights w;
  for (const Tensor& leaf : leaves) w[leaf.name()] = leaf;
  const Tensor words = w.at("input.words.weight");
  const Indices ids = random_ids(kit::Random(seed), 2, kTime, kVocabulary);
  const auto by_hand = [&] { return gpt_by_hand(w, words, kLayers, kHeads, ids); };

  kit::check_by_hand(
      report, "a GPT with two blocks", by_hand, [&] { return gpt(ids); }, leaves, seed);

  kit::Ids changed = ids.to_vector();  // other tokens in the first row, from the fourth on
  for (std::size_t i = 3; i < kTime; ++i) changed[i] = (changed[i] + 1) % kVocabulary;
  const Tensor moved = by_hand() - gpt_by_hand(w, words, kLayers, kHeads, Indices(changed, ids.shape()));
  report.check("other tokens from the 4th on: logits of the first 3 stay, to the bit",
               largest(slice(moved, 1, 0, 3)) == 0 && largest(slice(select(moved, 0, 0), 0, 3, kTime)) > 0);

  // E is used twice, and its gradient is the sum of what two matrices would get.
  const Tensor out = variable(words.detach(), "out");
  const auto ends =
      kit::gradients([&] { return gpt_by_hand(w, out, kLayers, kHeads, ids); }, {words, out}, seed);
  report.check("a tied matrix learns from both ends",
               largest(kit::gradients(by_hand, {words}, seed)[0] - ends[0] - ends[1]) < 1e-12);
}

// ---- 2. From a table of pairs to a GPT, part by part ------------------------------------------------------
//
// The task is a text, too: four to eight digits, "=", the same digits sorted.
//
//     3 1 4 1 5 9 2 6 = 1 1 2 3 4 5 6 9
//
// The loss counts what follows "=" alone; the digits before are random, and nobody can foretell them. It is
// counted in *nats*, which is to say with natural logarithms: who takes each of ten digits for equally likely
// pays log 10 for each. A tenth of all possible *answers* are held out: no string that sorts to one of those
// is ever trained on. Whoever gets them right has not learned answers by heart.

using kit::kFewestDigits, kit::kMostDigits;

/// What a ledger needs to know of a task.
struct Task {
  Size vocabulary, longest, rows;  // rows of a batch
  std::function<kit::NextTokens(kit::Random)> draw;
  kit::NextTokens test;
};

Task sorting_task(const kit::Options& options) {
  const Size rows = options.smoke ? 4 : 64;
  const auto draw = [rows](kit::Random random) {
    return kit::draw_sorting(random, rows, kFewestDigits, kMostDigits, false);
  };
  Task task{kit::kSortSymbols, 2 * kMostDigits, rows, draw, {}};
  task.test = kit::draw_sorting(kit::Random(options.seed, 1'000'000), options.smoke ? 4 : 1000, kFewestDigits,
                                kMostDigits, true);
  return task;
}

// A *bigram* model knows one thing: how often b follows a. It is a table of logits, a row for each token.
// Everything after it is there to see further back, and to make use of what is seen:
//
//   one head            a place may look at all before it, and what it read is all it has
//   four heads          four looks, each in a quarter of the width
//   a feed-forward      something to think with, at each place, after looking
//   three such blocks   deeper; but much lies between most weights and the loss now
//   residuals           each block adds to what is there instead of replacing it
//   norms               each block finds its input at the same size
//
// The last row is a GPT. Digits are an easy text: given time, every row with a feed-forward learns to sort.
// So look at the loss after a tenth of the training. Each look and the feed-forward pay at once. Depth costs
// more than it brings, until residuals carry the loss past the blocks. Norms add a little here: what they are
// for shows with more blocks and larger steps (lesson 19).

struct Bigram : Module {
  explicit Bigram(Size vocabulary) : next{{*this, "next"}, vocabulary, vocabulary, {}, zeros} {}
  Tensor operator()(const Indices& ids) const { return next(ids); }
  Embedding next;
};

struct Part {
  const char* name;
  Size layers, heads;
  bool feed_forward, residual;
  NormPlace norm;
};
constexpr Part kParts[] = {{"one head", 1, 1, false, false, NormPlace::none},
                           {"four heads", 1, 4, false, false, NormPlace::none},
                           {"+ feed-forward", 1, 4, true, false, NormPlace::none},
                           {"three such blocks", 3, 4, true, false, NormPlace::none},
                           {"+ residuals", 3, 4, true, true, NormPlace::none},
                           {"+ norms: a GPT", 3, 4, true, true, NormPlace::pre}};

struct Losses {
  double early = 0, end = 0;  // per token of the test, after a tenth of the steps and after all
};

template <class Model>
Losses train(Model& model, const std::string& name, const Task& task, double rate,
             const kit::Options& options) {
  Losses losses;
  const auto test = [&] {
    const Evaluating evaluating(model);
    return cross_entropy(model(task.test.inputs), task.test.targets).item();
  };
  model.initialise(options.seed);
  kit::train(model,
             {.name = name,
              .steps = options.steps,
              .rate = rate,
              .batch = task.rows,
              .unit = "rows",
              .seed = options.seed,
              .after_step =
                  [&](Size step) {
                    if (step == std::max<Size>(1, options.steps / 10)) losses.early = test();
                  }},
             [&](kit::Random random) {
               const kit::NextTokens batch = task.draw(random);
               return cross_entropy(model(batch.inputs), batch.targets);
             });
  losses.end = test();
  return losses;
}

std::unique_ptr<LanguageModel> show_ledger(const Task& task, const kit::Options& options,
                                           kit::Report& report) {
  kit::Bars ledger{
      "The loss after a tenth of the training, part by part", "nats per token on the test", {}, {}};
  std::string table =
      fmt::format("\n  {:<20}{:>14}{:>14}\n", "nats per token", "after a tenth", "at the end");
  std::map<std::string, double> early;
  const auto add = [&](const std::string& name, const Losses& losses) {
    ledger.bars.push_back({name, losses.early});
    table += fmt::format("  {:<20}{:>14.4f}{:>14.4f}\n", name, losses.early, losses.end);
    early[name] = losses.early;
  };
  Bigram bigram(task.vocabulary);
  add("bigram", train(bigram, "bigram", task, 3e-2, options));
  std::unique_ptr<LanguageModel> gpt;
  for (const Part& part : kParts) {
    TransformerOptions model = kit::language_model_options({.layers = part.layers,
                                                            .heads = part.heads,
                                                            .width = options.smoke ? 16 : 64,
                                                            .context = task.longest},
                                                           task.vocabulary);
    model.block.feed_forward = part.feed_forward;
    model.block.residual = part.residual;
    model.block.norm_place = part.norm;
    gpt = std::make_unique<LanguageModel>(model);
    add(part.name, train(*gpt, part.name, task, 2e-3, options));
  }
  fmt::print("{}", table);
  kit::show(ledger, options.out / "ledger.svg");
  report.at_least("early loss of three bare blocks, times that of one",
                  early["three such blocks"] / early["+ feed-forward"], 1.5);
  report.at_least("the same, times that with residuals", early["three such blocks"] / early["+ residuals"],
                  3);
  return gpt;
}

// ---- 3. Sorting -------------------------------------------------------------------------------------------
//
// Training was teacher forcing: the right digits went in. Now the model writes on its own. What stands up to
// "=" is the *prompt*, and each digit that it chooses is fed back. An answer counts if all digits are right.

/// The digits that it writes after "=", for rows of so many.
Indices sort_freely(const LanguageModel& gpt, const Indices& inputs, Size digits) {
  const Indices prompt = inputs.columns(0, digits + 1);
  const auto model = gpt.begin(prompt, 2 * digits);  // has read all but "=", with which the search begins
  kit::Ids written;
  // No token ends a row (−1): it writes so many.
  for (const Decoded& row :
       greedy(*model, {.first = prompt.column(digits).to_vector(), .end = -1, .max_length = digits}))
    written.insert(written.end(), row.ids.begin(), row.ids.end());
  return Indices(written, {inputs.shape()[0], digits});
}

void sort_digits(LanguageModel& gpt, const kit::Options& options, kit::Report& report) {
  const Evaluating evaluating(gpt);
  const kit::NextTokens pi = kit::sorting({{3, 1, 4, 1, 5, 9, 2, 6}});
  fmt::print("  3 1 4 1 5 9 2 6 = {}\n", fmt::join(sort_freely(gpt, pi.inputs, 8).to_vector(), " "));
  constexpr Size kLengths = kMostDigits - kFewestDigits + 1;
  const Size rows = options.smoke ? 4 : 10'000 / kLengths;
  double right = 0;  // in per cent, summed over lengths
  for (Size digits = kFewestDigits; digits <= kMostDigits; ++digits) {
    const kit::NextTokens test =
        kit::draw_sorting(kit::Random(options.seed, 2'000'000), rows, digits, digits, true);
    const Indices answers = test.targets.columns(digits, 2 * digits);
    right += kit::percent_rows_equal(sort_freely(gpt, test.inputs, digits), answers);
  }
  report.at_least(fmt::format("{} strings with answers never seen: all digits right", rows * kLengths),
                  right / kLengths, 99.9, "%");
}

// ---- 4. Remember keys and values --------------------------------------------------------------------------
//
// To write one more token the model needs one more row of its logits. Computing all rows again would be a
// waste: no place looks ahead, so keys and values of the old places cannot change. Keep them (the *KV
// cache*), and each new token costs one query, one key and one value, in place of T of each. What still grows
// with T is the look back: one query against all keys. For one head:

Tensor head_with_cache(const Tensor& x, const Tensor& w_q, const Tensor& w_k, const Tensor& w_v) {
  Tensor keys, values;  // of the tokens so far
  std::vector<Tensor> read;
  for (Size t = 0; t < x.size(1); ++t) {
    const Tensor token = slice(x, 1, t, t + 1), q = matmul(token, transpose(w_q));
    const Tensor k = matmul(token, transpose(w_k)), v = matmul(token, transpose(w_v));
    keys = t == 0 ? k : concat({keys, k}, 1);
    values = t == 0 ? v : concat({values, v}, 1);
    const Tensor scores = matmul(q, transpose(keys)) / std::sqrt(static_cast<double>(q.size(2)));
    read.push_back(matmul(softmax(scores, -1), values));  // no mask: there is nothing ahead yet
  }
  return concat(read, 1);
}

void show_cache(const kit::Options& options, kit::Report& report) {
  const std::uint64_t seed = options.seed;
  const Tensor x = random_normal({2, 9, 8}, seed, DType::f64);
  const auto weight = [&](std::uint64_t i) { return random_normal({4, 8}, seed + i, DType::f64); };
  report.check("one head, token by token, equals all at once",
               largest(head(x, weight(1), weight(2), weight(3)) -
                       head_with_cache(x, weight(1), weight(2), weight(3))) < 1e-12);

  const Size longest = options.smoke ? 64 : 512;
  const kit::LanguageRecipe sizes = {
      .layers = 4, .heads = 4, .width = options.smoke ? 32 : 128, .context = longest + 16};
  LanguageModel gpt(kit::language_model_options(sizes, 65));
  gpt.initialise(seed);
  gpt.eval();
  const Indices text = random_ids(kit::Random(seed), 1, longest + 16, 65);
  double apart = 0;
  // The same 50 tokens, cut into pieces at these places.
  for (const std::vector<Size>& cuts : {std::vector<Size>{1, 2, 3, 30}, {17}, {35, 36}}) {
    StackCache cache = gpt.cache(8);  // room for 8 tokens at first; it grows
    std::vector<Tensor> logits;
    Size from = 0;
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
      const Size to = i < cuts.size() ? cuts[i] : 50;
      logits.push_back(gpt(text.columns(from, to), cache));
      from = to;
    }
    apart = std::max(apart, largest(concat(logits, 1) - gpt(text.columns(0, 50))));
  }
  report.at_most("nn/'s cache, 50 tokens in pieces: logits differ by", apart, 1e-5);

  kit::Chart chart{"One more token: what the cache saves", "tokens so far", "milliseconds", {}, {}};
  chart.y_scale = kit::Scale::log;
  chart.series = {{"all again", {}, {}}, {"with the cache", {}, {}}};
  // Each of the seven runs adds one token to a cache.
  const auto milliseconds = [](const auto& run) { return 1000 * kit::fastest(7, run); };
  for (Size length = 32; length <= longest; length *= 2) {
    StackCache cache = gpt.cache(longest + 16);
    gpt(text.columns(0, length - 1), cache);
    const double times[] = {milliseconds([&] { gpt(text.columns(0, length)); }),
                            milliseconds([&] { gpt(text.columns(length - 1, length), cache); })};
    for (std::size_t i = 0; i < 2; ++i) {
      chart.series[i].x.push_back(static_cast<double>(length));
      chart.series[i].y.push_back(times[i]);
    }
    fmt::print("  {:>4} tokens: {:>7.2f} ms all again, {:>6.2f} ms with the cache\n", length, times[0],
               times[1]);
  }
  report.at_least(fmt::format("times as fast after {} tokens", longest),
                  chart.series[0].y.back() / chart.series[1].y.back(), 5);
  kit::show(chart, options.out / "cache.svg");
}

// ---- 5. Choosing from what it predicts --------------------------------------------------------------------
//
// Sorting has one right answer, and taking the likeliest token finds it. A story has many, and a model that
// always takes the likeliest goes round in circles. So draw:
//
//   temperature τ    from softmax(logits / τ): below 1 bolder on the likely, above 1 wilder; 0: the likeliest
//   top-k            among the k likeliest (Fan, Lewis and Dauphin 2018)
//   top-p            among the fewest whose shares reach p: few where the model is sure, many where it is not
//                    (Holtzman et al. 2020)

using Shares = std::vector<double>;  // the likeliest first

/// The shares with which tokens are drawn.
Shares choose_from(Shares shares, const SamplingOptions& how) {
  const auto normalise = [&] {
    double all = 0;
    for (const double share : shares) all += share;
    for (double& share : shares) share /= all;
  };
  for (double& share : shares) share = std::pow(share, 1 / how.temperature);  // e^{log p / τ}
  if (how.top_k > 0) std::fill(shares.begin() + how.top_k, shares.end(), 0);
  normalise();
  double before = 0;
  for (double& share : shares) {
    const double own = share;
    if (before >= how.top_p) share = 0;
    before += own;
  }
  normalise();
  return shares;
}

/// A model that believes the same whatever it reads, so that one can count what nn/'s sample() draws from it.
class Believer final : public StepModel {
 public:
  Believer(Shares shares, Size rows) : shares_(std::move(shares)), rows_(rows) {}
  Size rows() const override { return rows_; }
  Step step(const Indices&) override {
    const Size count = static_cast<Size>(shares_.size());
    return {expand(log(tensor(shares_, {1, count}, DType::f64)), {rows_, count}), {}};
  }
  void keep_rows(const std::vector<Size>& rows) override { rows_ = static_cast<Size>(rows.size()); }

 private:
  Shares shares_;
  Size rows_;
};

void show_sampling(const kit::Options& options, kit::Report& report) {
  const Shares believed = {0.5, 0.25, 0.15, 0.07, 0.03};
  const Size rows = options.smoke ? 200 : 20'000;
  double apart = 0;
  fmt::print("  {:<18}{:<36}drawn {} times\n", "shares of tokens", "by hand", rows);
  const auto draw = [&](const char* name, SamplingOptions how) {
    how.max_length = 1;
    how.seed = options.seed;
    Believer model(believed, rows);
    Shares drawn(believed.size(), 0.0);
    for (const Decoded& row : sample(model, how))
      drawn[static_cast<std::size_t>(row.ids[0])] += 1.0 / static_cast<double>(rows);
    const Shares by_hand = choose_from(believed, how);
    fmt::print("  {:<18}{:.3f}   {:.3f}\n", name, fmt::join(by_hand, "  "), fmt::join(drawn, "  "));
    for (std::size_t i = 0; i < drawn.size(); ++i)  // what is cut off must never be drawn
      apart = std::max(apart, by_hand[i] == 0 && drawn[i] > 0 ? 1 : std::abs(by_hand[i] - drawn[i]));
  };
  draw("as believed", {});
  draw("temperature 0.5", {.temperature = 0.5});
  draw("temperature 2", {.temperature = 2});
  draw("top-k 2", {.top_k = 2});
  draw("top-p 0.8", {.top_p = 0.8});
  report.at_most("largest difference of a share", apart, 0.02);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("20_gpt", "predict the next token");
  program.steps(2000, 2);
  TextSettings text;
  offer(program, text);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    follow(program, options, text);
    if (program.given("--prompt")) return write_on(text, options, text.prompt);
    report.section("A GPT from plain ops");
    show_gpt(options.seed, report);
    if (!options.data.empty()) {
      report.section("Training on text");
      learn_text(text, options, report);
      report.section("It writes");
      return write_on(text, options, "");
    }
    report.section("From a table of pairs to a GPT, part by part");
    const auto gpt = show_ledger(sorting_task(options), options, report);
    report.section("Sorting");
    sort_digits(*gpt, options, report);
    report.section("Remember keys and values");
    show_cache(options, report);
    report.section("Choosing from what it predicts");
    show_sampling(options, report);
  });
}
