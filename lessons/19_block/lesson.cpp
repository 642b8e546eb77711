// 19 block: depth needs residuals, norms and a feed-forward
//
// One attention answers one question about a sequence. For the question after that, which depends on the
// answer, one needs a second attention on top, and a third on top of that. But eight attentions merely piled
// up do not learn. A transformer's *block* (Vaswani and others 2017) is an attention with three helpers: a
// residual, a norm and a feed-forward. Each has a job that shows when it is left out.
//
// You will: 1 build a block part by part, and check it; 2 see how far one block gets that has to follow a
// pointer twice, and add; 3 add the parts one at a time, with two blocks and with eight, and take each away
// again; 4 see what residuals keep: tokens that differ, and gradients; 5 see what norms allow: large steps.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/19_block/cards.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/embedding.hpp"
#include "nn/transformer/stack.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"

using namespace tapestry;
using kit::Cards;

namespace {

// ---- 1. A block, part by part -----------------------------------------------------------------------------
//
// Part one is lesson 18's attention, in which tokens look at each other. Part two is the *feed-forward*, two
// linear layers with a kink between, for each token by itself (width 32, 64 units in between, here):
//
//     feed_forward(x) = W₂ relu(W₁ x + b₁) + b₂
//
// A *residual* adds a part's result to what went in, so that a part has to find only what is to be changed,
// and what it leaves alone is still there above it. And a *norm* brings every token to mean 0 and variance 1;
// then each of its numbers gets a scale γ and a shift β, which are learned and the same for all tokens
// (LayerNorm: Ba, Kiros and Hinton 2016). ε is tiny and keeps the root away from 0:
//
//     norm(x) = γ ⊙ (x − mean) / √(variance + ε) + β           over the numbers of one token
//
// There are two places for it. The paper of 2017 put it after the sum, today it stands before the part:
//
//     post    x ← norm(x + part(x))
//     pre     x ← x + part(norm(x))        and one norm after the last block, where the sum has grown
//
// With pre, nothing stands in the way of x from the first block to the last. Section 5 shows what that means.

Tensor norm_by_hand(const Tensor& x, const Norm& norm) {
  const Tensor gamma = norm.parameters().front(), beta = norm.parameters().back();
  const Tensor centred = x - mean(x, {-1}, Keep::yes);
  return gamma * centred / sqrt(mean(centred * centred, {-1}, Keep::yes) + 1e-5) + beta;
}

Tensor feed_forward_by_hand(const Tensor& x, const FeedForward& layer) {
  return linear(relu(linear(x, layer.in.weight, layer.in.bias)), layer.out.weight, layer.out.bias);
}

/// Which parts a block has, and where its norms stand. Without changes it is the whole.
struct Parts {
  bool residual = true;
  NormPlace norm = NormPlace::pre;
  bool feed_forward = true;
};

/// nn/'s block has every part as an option; here are the same weights, put to use by hand.
Tensor block_by_hand(const Tensor& x, const TransformerBlock& block, const Parts& parts) {
  const auto with = [&](const Tensor& in, const std::optional<Norm>& norm, const auto& part) {
    const Tensor added = part(parts.norm == NormPlace::pre ? norm_by_hand(in, *norm) : in);
    const Tensor sum = parts.residual ? in + added : added;
    return parts.norm == NormPlace::post ? norm_by_hand(sum, *norm) : sum;
  };
  const auto attend = [&](const Tensor& in) { return block.self(in, in, in).context; };
  const auto feed = [&](const Tensor& in) { return feed_forward_by_hand(in, *block.feed_forward); };
  const Tensor y = with(x, block.self_norm, attend);
  return parts.feed_forward ? with(y, block.feed_forward_norm, feed) : y;
}

BlockOptions options_of(const Parts& parts, Size width, Size heads) {
  return {.width = width,
          .heads = heads,
          .hidden = 2 * width,
          .norm_place = parts.norm,
          .activation = Activation::relu,
          .feed_forward = parts.feed_forward,
          .residual = parts.residual};
}

struct Recipe {
  const char* name;
  Parts parts = {};
};
/// For section 3: in each row one part more, then the whole with one taken away or moved.
constexpr std::array<Recipe, 7> kRecipes = {
    {{"attention alone", {.residual = false, .norm = NormPlace::none, .feed_forward = false}},
     {"+ residual", {.norm = NormPlace::none, .feed_forward = false}},
     {"+ norm", {.feed_forward = false}},
     {"+ feed-forward"},
     {"whole, no residual", {.residual = false}},
     {"whole, no norm", {.norm = NormPlace::none}},
     {"whole, norm after", {.norm = NormPlace::post}}}};
enum : std::size_t { kAlone, kWithResidual, kWithNorm, kWhole, kNoResidual, kNoNorm, kPost };

void check_block(const Recipe& recipe, std::uint64_t seed, kit::Report& report) {
  TransformerBlock block(options_of(recipe.parts, 6, 2), {});
  block.initialise(seed, DType::f64);
  const Tensor x = variable(random_normal({2, 4, 6}, seed, DType::f64), "x");
  std::vector<Tensor> leaves = {x};
  for (const Tensor& weight : block.parameters())  // a bias of the keys does nothing (lesson 18)
    if (weight.name() != "self.key.bias") leaves.push_back(weight);
  kit::check_by_hand(
      report, recipe.name, [&] { return block_by_hand(x, block, recipe.parts); }, [&] { return block(x); },
      leaves, seed);
}

// ---- 2. Follow a pointer twice ----------------------------------------------------------------------------
//
// Ten cards lie in a row. Each shows a digit and the number of some card, and no two show the same number.
// For each card there are three questions:
//
//     once     which digit is on the card that it points to?
//     twice    and on the card that *that* one points to?
//     sum      what is the last digit of their sum?
//
// Once is what one attention does: the query is the number on this card, the keys are the places. Twice wants
// a second one above it, which asks with what the first one found. The sum wants a table of ten by ten, and a
// table is no weighted average. So one block should answer once, and no more. What remains to it is guessing,
// and here the best guess is better than one in ten: who knows no more of a row than the average of its cards
// names its most frequent digit, and is right at 27 % of them.

constexpr Size kWidth = 32, kHeads = 2, kDeep = 8;

struct Reader : Module {
  Reader(Size blocks, const Parts& parts)
      : places{{*this, "places"}, kit::kCards, kWidth},
        pointers{{*this, "pointers"}, kit::kCards, kWidth},
        digits{{*this, "digits"}, kit::kCardDigits, kWidth},
        stack{{*this, "stack"}, blocks, options_of(parts, kWidth, kHeads), {}},
        answer{{*this, "answer"}, kWidth, kit::kCardQuestions * kit::kCardDigits} {}

  /// A card is its place, its pointer and its digit, added up: (B, 10, 32).
  Tensor enter(const Cards& cards) const {
    return places.weight + pointers(cards.pointers) + digits(cards.digits);
  }
  /// (B, 10, 3, 10)
  Tensor answers(const Tensor& states) const {
    return reshape(answer(states), {states.size(0), kit::kCards, kit::kCardQuestions, kit::kCardDigits});
  }
  Tensor operator()(const Cards& cards) const { return answers(stack(enter(cards))); }

  Embedding places, pointers, digits;
  TransformerStack stack;
  Linear answer;
};

Size batch_of(const kit::Options& options) { return options.smoke ? 4 : 64; }

Cards test_cards(const kit::Options& options) {
  return kit::deal_cards(kit::Random(options.seed, 1'000'000), options.smoke ? 20 : 1000);
}

struct Result {
  double loss = 0;
  std::array<double, kit::kCardQuestions> right = {};  // per cent
};
enum : std::size_t { kOnce, kTwice, kSum };

Result train(Size blocks, const Recipe& recipe, const kit::Options& options) {
  Reader model(blocks, recipe.parts);
  model.initialise(options.seed);
  const Size batch = batch_of(options);
  kit::train(model,
             {.name = fmt::format("{}, blocks: {}", recipe.name, blocks),
              .steps = options.steps,
              .rate = 6e-3,
              .batch = batch,
              .unit = "rows",
              .seed = options.seed},
             [&](kit::Random random) {
               const Cards cards = kit::deal_cards(random, batch);
               return cross_entropy(model(cards), cards.answers);
             });
  const Cards test = test_cards(options);
  const Tensor logits = model(test);
  const Indices written = argmax(logits);
  Result result{cross_entropy(logits, test.answers).item(), {}};
  for (std::size_t q = 0; q < result.right.size(); ++q)
    result.right[q] =
        kit::percent_equal(written.column(static_cast<Size>(q)), test.answers.column(static_cast<Size>(q)));
  return result;
}

void print_head(const char* what) {
  fmt::print("  {:<20}    loss     once    twice      sum   (% right)\n", what);
}
void print_result(const std::string& name, const Result& result) {
  fmt::print("  {:<20} {:>7.3f} {:>8.1f} {:>8.1f} {:>8.1f}\n", name, result.loss, result.right[kOnce],
             result.right[kTwice], result.right[kSum]);
}

void one_block(const kit::Options& options, kit::Report& report) {
  report.quoted("naming the most frequent digit", kit::most_frequent_digit(test_cards(options)), 27, 0.1,
                "%");
  const Result one = train(1, {"one block"}, options);
  print_head("");
  print_result("one block", one);
  report.at_least("one block: once", one.right[kOnce], 99, "%");
  report.at_most("one block: twice", one.right[kTwice], 40, "%");
  report.at_most("one block: sum", one.right[kSum], 40, "%");
}

// ---- 3. What each part brings -----------------------------------------------------------------------------
//
// Eight blocks are more than this task needs, and that is the point: depth should do no harm. All rows below
// are trained alike, with two blocks and with eight. What to see:
//
//   - Two blocks of attention alone follow the pointer twice. What is missing is the sum, and the
//     feed-forward brings it. (A softmax is not linear either: with eight blocks and no feed-forward,
//     attention finds a way to add most of the time.) Already here a feed-forward without a residual
//     around it is in the way, for what it does not hand on is lost. Norms do not matter yet.
//   - Eight of the same fail. With a residual alone they fail too, and it takes the norm as well to learn.
//     Take either away from the whole, and it is back at guessing: each is needed, neither is enough. Some
//     still guess the most frequent digit; those with one in ten right, or little more, have lost even that.
//   - With its norm after the sum, the whole fails at this rate of learning. Section 5 comes back to it.

void each_part(const kit::Options& options, kit::Report& report) {
  kit::Bars losses{"Eight blocks: the loss with each part", "cross-entropy", {}, {}};
  losses.level = {std::log(static_cast<double>(kit::kCardDigits)), "guessing"};
  kit::Heatmap map{"Share right, with two blocks and with eight",
                   {"once, 2", "twice, 2", "sum, 2", "", "once, 8", "twice, 8", "sum, 8"},
                   {},
                   {}};
  map.numbers = true;
  std::vector<Result> two, eight;
  for (const Recipe& recipe : kRecipes) {
    two.push_back(train(2, recipe, options));
    eight.push_back(train(kDeep, recipe, options));
    map.rows.emplace_back(recipe.name);
    for (const double right : two.back().right) map.values.push_back(right / 100);
    map.values.push_back(std::nan(""));
    for (const double right : eight.back().right) map.values.push_back(right / 100);
    losses.bars.push_back({recipe.name, eight.back().loss});
  }
  print_head("two blocks");
  for (std::size_t i = 0; i < two.size(); ++i) print_result(kRecipes[i].name, two[i]);
  print_head("eight blocks");
  for (std::size_t i = 0; i < eight.size(); ++i) print_result(kRecipes[i].name, eight[i]);

  report.at_least("2 blocks, attention alone: twice", two[kAlone].right[kTwice], 80, "%");
  report.at_most("2 blocks, no feed-forward: sum", two[kWithNorm].right[kSum], 50, "%");
  report.at_least("2 blocks, whole: sum", two[kWhole].right[kSum], 95, "%");
  report.at_most("2 blocks, no residual: twice", two[kNoResidual].right[kTwice], 60, "%");
  report.at_least("2 blocks, no norm: sum", two[kNoNorm].right[kSum], 95, "%");
  report.at_most("8 blocks, attention alone: once", eight[kAlone].right[kOnce], 40, "%");
  report.at_most("8 blocks, a residual alone: once", eight[kWithResidual].right[kOnce], 40, "%");
  report.at_least("8 blocks, residual and norm: sum", eight[kWithNorm].right[kSum], 80, "%");
  report.at_least("8 blocks, whole: twice", eight[kWhole].right[kTwice], 99, "%");
  report.at_least("8 blocks, whole: sum", eight[kWhole].right[kSum], 99, "%");
  report.at_most("8 blocks, no residual: once", eight[kNoResidual].right[kOnce], 30, "%");
  report.at_most("8 blocks, no norm: once", eight[kNoNorm].right[kOnce], 40, "%");
  report.at_most("8 blocks, norm after: once", eight[kPost].right[kOnce], 40, "%");
  kit::show(losses, options.out / "ledger.svg");
  kit::show(map, options.out / "parts.svg");
}

// ---- 4. What residuals keep -------------------------------------------------------------------------------
//
// An attention hands out averages, and with first weights rather even ones. Averages of averages of averages
// are all alike: without residuals the ten cards become one and the same vector within a few blocks (Dong,
// Cordonnier and Loukas 2021). Where all values are alike it does not matter where one looks, and so the
// gradient of what makes queries and keys is nothing. A residual keeps the token itself. Both are measured
// before any training, in f64: after each block how *unlike* its ten tokens are,
// |x − mean of the tokens| / |x|, and in each block the length of the gradient of W^Q and W^K.

struct Depth {
  std::vector<double> unlike;    // before the first block, after it, …
  std::vector<double> gradient;  // of each block
};

Depth look_into(const Parts& parts, const kit::Options& options) {
  Reader model(kDeep, parts);
  model.initialise(options.seed, DType::f64);
  const Cards cards = kit::deal_cards(kit::Random(options.seed), batch_of(options));
  Depth depth;
  Tape tape;
  Tensor x = model.enter(cards);
  const auto measure = [&] {
    const Tensor differs = x - mean(x, {1}, Keep::yes);
    depth.unlike.push_back(std::sqrt(sum(differs * differs).item() / sum(x * x).item()));
  };
  measure();
  for (const TransformerBlock& block : model.stack.blocks) {
    x = block(x);
    measure();
  }
  tape.backward(cross_entropy(model.answers(model.stack.norm ? (*model.stack.norm)(x) : x), cards.answers));
  for (const TransformerBlock& block : model.stack.blocks)
    depth.gradient.push_back(gradient_norm({block.self.query.weight, block.self.key.weight}));
  return depth;
}

void show_depth(const kit::Options& options, kit::Report& report) {
  kit::Chart chart{"Gradient of queries' and keys' weights, before training", "block", "length"};
  chart.y_scale = kit::Scale::log;
  const auto print = [](const std::string& name, const std::vector<double>& values) {
    fmt::print("  {:<22}", name);
    if (values.size() == kDeep) fmt::print("{:>9}", "");  // before the first block
    for (const double value : values) fmt::print("{:>9.2g}", value);
    fmt::print("\n");
  };
  print("block", {0, 1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<Depth> depths;
  for (const std::size_t i : {kWhole, kNoResidual, kNoNorm}) {
    const std::string name = i == kWhole ? "whole" : i == kNoResidual ? "no residual" : "no norm";
    const Depth& depth = depths.emplace_back(look_into(kRecipes[i].parts, options));
    print(name + ": unlike", depth.unlike);
    print(name + ": gradient", depth.gradient);
    chart.series.push_back({name, {1, 2, 3, 4, 5, 6, 7, 8}, depth.gradient});
  }
  report.at_least("whole: tokens unlike after 8 blocks", depths[0].unlike.back(), 0.5);
  report.at_most("no residual: tokens unlike after 8 blocks", depths[1].unlike.back(), 1e-4);
  report.at_least("no norm: gradient of block 1 ÷ the whole's", depths[2].gradient[0] / depths[0].gradient[0],
                  1000);
  kit::show(chart, options.out / "gradients.svg");
}

// ---- 5. What norms allow ----------------------------------------------------------------------------------
//
// "No norm" shows it above: with residuals but no norms, every block adds to what the one below has added.
// Tokens grow from block to block and scores with their square, a softmax of large scores has its mind made
// up before anything was learned, and a small change of a weight at the bottom throws over everything above.
// Gradients there are thousands of times those of the whole, and, worse, right for tiny steps only: that is
// what no optimiser can divide out. A norm in front of each part shows it tokens of one size, however large
// the sum has become.
//
// So let us look for the largest rate at which a network still learns. kit::train warms the rate up and cuts
// long gradients, which helps; here is Adam without either, a row for each network, and the loss at the end.
// "Learns" means a loss of at most 0.3. With two blocks the norm matters little. With four, norms before the
// parts leave a wide range of rates. Norms after the sum leave a narrow one, for gradients on their way down
// pass every norm (Xiong and others 2020; it is why the first transformers needed a long warm-up). Without
// norms there is none at all.

constexpr std::array<double, 5> kRates = {2e-3, 4e-3, 8e-3, 16e-3, 32e-3};

/// The mean loss of the last steps.
double loss_at(double rate, Size blocks, NormPlace norm, const kit::Options& options) {
  Reader model(blocks, {.norm = norm});
  model.initialise(options.seed);
  Adam adam(model.parameters(), {.learning_rate = rate});
  const Size steps = std::max<Size>(2, 3 * options.steps / 4), last = std::max<Size>(1, steps / 15);
  double late = 0;
  for (Size step = 1; step <= steps; ++step) {
    const kit::Random random(options.seed, static_cast<std::uint64_t>(step));
    const Cards cards = kit::deal_cards(random, batch_of(options));
    Tape tape;
    const Tensor loss = cross_entropy(model(cards), cards.answers);
    if (!(loss.item() < 1e6)) return 1e6;  // lost for good
    if (step > steps - last) late += loss.item() / static_cast<double>(last);
    tape.backward(loss);
    adam.step();
  }
  return late;
}

/// The losses at all rates, printed as a row.
kit::Series scan(const char* name, Size blocks, NormPlace norm, const kit::Options& options) {
  fmt::print("  {:<12} {} blocks   ", name, blocks);
  kit::Series series{name, {kRates.begin(), kRates.end()}, {}};
  for (const double rate : kRates) {
    const double loss = loss_at(rate, blocks, norm, options);
    series.y.push_back(std::min(loss, 10.0));
    fmt::print("{:>9}", loss > 10 ? "> 10" : fmt::format("{:.3f}", loss));
  }
  fmt::print("\n");
  return series;
}

/// The largest rate that learns, or 0.
double largest_rate(const kit::Series& series) {
  double rate = 0;
  for (std::size_t i = 0; i < series.x.size(); ++i)
    if (series.y[i] <= 0.3) rate = series.x[i];
  return rate;
}

void show_rates(const kit::Options& options, kit::Report& report) {
  fmt::print("  loss at the rate        ");
  for (const double rate : kRates) fmt::print("{:>9}", rate);
  fmt::print("\n");
  const kit::Series two_pre = scan("norm before", 2, NormPlace::pre, options),
                    two_none = scan("no norm", 2, NormPlace::none, options),
                    pre = scan("norm before", 4, NormPlace::pre, options),
                    post = scan("norm after", 4, NormPlace::post, options),
                    none = scan("no norm", 4, NormPlace::none, options);
  report.at_least("2 blocks, norm before: largest rate", largest_rate(two_pre), 0.016);
  report.at_least("2 blocks, no norm: largest rate", largest_rate(two_none), 0.004);
  report.at_least("4 blocks, norm before: largest rate", largest_rate(pre), 0.008);
  report.figure("4 blocks, norm after: largest rate", largest_rate(post));
  report.at_most("4 blocks, no norm: largest rate (0: none)", largest_rate(none), 0);
  kit::Chart chart{"Four blocks: loss against learning rate", "learning rate", "loss (10: or more)"};
  chart.series = {pre, post, none};
  chart.levels = {{0.3, "learns"}};
  chart.x_scale = chart.y_scale = kit::Scale::log;
  kit::show(chart, options.out / "rates.svg");
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A block, part by part");
  for (const Recipe& recipe : kRecipes) check_block(recipe, options.seed, report);

  report.section("Follow a pointer twice");
  one_block(options, report);

  report.section("What each part brings");
  each_part(options, report);

  report.section("What residuals keep");
  show_depth(options, report);

  report.section("What norms allow");
  show_rates(options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("19_block", "depth needs residuals, norms and a feed-forward");
  program.steps(350, 2);
  return program.run(argc, argv, lesson);
}
