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
#include <numeric>

#include "core/core.hpp"
#include "lessons/kit/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/training.hpp"
#include "nn/embedding.hpp"
#include "nn/transformer/stack.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"

using namespace tapestry;
using kit::largest, kit::weights_of;

namespace {

// ---- 1. A block, part by part -----------------------------------------------------------------------------
//
// Part one is lesson 18's attention, in which tokens look at each other. Part two is the *feed-forward*, two
// linear layers with a kink between, for each token by itself (width 32, 64 units in between, here):
//
//     feed_forward(x) = W₂ relu(W₁ x + b₁) + b₂
//
// A *residual* adds a part's result to what went in, so that a part has to find only what is to be changed,
// and what it leaves alone is still there above it. And a *norm* brings every token to mean 0 and variance 1,
// then lets it choose a scale and a shift for each of its numbers (LayerNorm: Ba, Kiros and Hinton 2016):
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

/// Which parts a block has, and where its norms stand.
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
  Parts parts;
};
constexpr Parts kWhole{};
/// The ledger of section 3: a part more in each row, then the whole with one taken away.
constexpr std::array<Recipe, 7> kRecipes = {{{"attention alone", {false, NormPlace::none, false}},
                                             {"+ residual", {true, NormPlace::none, false}},
                                             {"+ norm", {true, NormPlace::pre, false}},
                                             {"+ feed-forward", kWhole},
                                             {"whole, no residual", {false, NormPlace::pre, true}},
                                             {"whole, no norm", {true, NormPlace::none, true}},
                                             {"whole, norm after", {true, NormPlace::post, true}}}};
enum : std::size_t { kAlone, kWithResidual, kWithNorm, kAll, kNoResidual, kNoNorm, kPost };

void check_block(const Recipe& recipe, std::uint64_t seed, kit::Report& report) {
  TransformerBlock block(options_of(recipe.parts, 6, 2), {});
  block.initialise(seed, DType::f64);
  const Tensor x = variable(random_normal({2, 4, 6}, seed, DType::f64), "x");
  std::vector<Tensor> leaves = {x};
  for (const Tensor& weight : block.parameters())  // a bias of the keys does nothing (lesson 18)
    if (weight.name() != "self.key.bias") leaves.push_back(weight);
  const auto by_hand = [&] { return block_by_hand(x, block, recipe.parts); };
  const auto by_nn = [&] { return block(x); };
  const GradcheckResult check = gradcheck(by_hand, {}, leaves, GradcheckOptions{.seed = seed});
  if (!check.ok()) fmt::print("{}", check.report());
  const double apart = std::max(
      largest(by_hand() - by_nn()),
      kit::farthest(kit::gradients(by_hand, leaves, seed + 1), kit::gradients(by_nn, leaves, seed + 1)));
  report.check(
      fmt::format("{:<20} gradcheck, {} derivatives; nn/ agrees to 1e-12", recipe.name, check.compared),
      check.ok() && apart < 1e-12);
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

constexpr Size kCards = 10, kDigits = 10, kQuestions = 3, kWidth = 32, kHeads = 2, kDeep = 8;

struct Cards {
  Indices pointers, digits;  // (B, 10)
  Indices answers;           // (B, 10, 3)
};

Cards deal(kit::Random random, Size count) {
  std::vector<std::int64_t> pointer(kCards), digit(kCards), pointers, digits, answers;
  std::iota(pointer.begin(), pointer.end(), 0);
  for (Size row = 0; row < count; ++row) {
    random.shuffle(pointer);
    for (std::int64_t& d : digit) d = random.below(kDigits);
    pointers.insert(pointers.end(), pointer.begin(), pointer.end());
    digits.insert(digits.end(), digit.begin(), digit.end());
    for (const std::int64_t place : pointer) {
      const auto first = static_cast<std::size_t>(place), second = static_cast<std::size_t>(pointer[first]);
      answers.insert(answers.end(), {digit[first], digit[second], (digit[first] + digit[second]) % kDigits});
    }
  }
  return {Indices(pointers, {count, kCards}), Indices(digits, {count, kCards}),
          Indices(answers, {count, kCards, kQuestions})};
}

/// The share of cards that show the most frequent digit of their row, in per cent.
double most_frequent(const Cards& cards) {
  const std::vector<std::int64_t> digits = cards.digits.to_vector();
  double sum = 0;
  for (auto row = digits.begin(); row != digits.end(); row += kCards) {
    std::ptrdiff_t most = 0;
    for (std::int64_t d = 0; d < kDigits; ++d) most = std::max(most, std::count(row, row + kCards, d));
    sum += static_cast<double>(most);
  }
  return 100 * sum / static_cast<double>(digits.size());
}

struct Reader : Module {
  Reader(Size blocks, const Parts& parts)
      : places{{*this, "places"}, kCards, kWidth},
        pointers{{*this, "pointers"}, kCards, kWidth},
        digits{{*this, "digits"}, kDigits, kWidth},
        stack{{*this, "stack"}, blocks, options_of(parts, kWidth, kHeads), {}},
        answer{{*this, "answer"}, kWidth, kQuestions * kDigits} {}

  /// A card is its place, its pointer and its digit, added up: (B, 10, 32).
  Tensor enter(const Cards& cards) const {
    return places.weight + pointers(cards.pointers) + digits(cards.digits);
  }
  /// (B, 10, 3, 10)
  Tensor answers(const Tensor& states) const {
    return reshape(answer(states), {states.size(0), kCards, kQuestions, kDigits});
  }
  Tensor operator()(const Cards& cards) const { return answers(stack(enter(cards))); }

  Embedding places, pointers, digits;
  TransformerStack stack;
  Linear answer;
};

constexpr Size kBatch = 64;

struct Result {
  double loss = 0;
  std::array<double, kQuestions> right = {};  // per cent
};

Cards test_cards(const kit::Options& options) {
  return deal(kit::Random(options.seed, 1'000'000), options.smoke ? 50 : 1000);
}

Result train(Size blocks, const Recipe& recipe, const kit::Options& options) {
  Reader model(blocks, recipe.parts);
  model.initialise(options.seed);
  kit::train(model,
             {.name = fmt::format("{}, blocks: {}", recipe.name, blocks),
              .steps = options.steps,
              .rate = 6e-3,
              .batch = kBatch,
              .unit = "rows",
              .seed = options.seed},
             [&](kit::Random random) {
               const Cards cards = deal(random, kBatch);
               return cross_entropy(model(cards), cards.answers);
             });
  const Cards test = test_cards(options);
  const Tensor logits = model(test);
  const Indices written = argmax(logits);
  Result result{cross_entropy(logits, test.answers).item(), {}};
  for (Size q = 0; q < kQuestions; ++q)
    result.right[static_cast<std::size_t>(q)] = kit::percent_equal(written.column(q), test.answers.column(q));
  return result;
}

void print_head(const char* what) {
  fmt::print("  {:<20}    loss     once    twice      sum   (% right)\n", what);
}
void print_result(const std::string& name, const Result& result) {
  fmt::print("  {:<20} {:>7.3f} {:>8.1f} {:>8.1f} {:>8.1f}\n", name, result.loss, result.right[0],
             result.right[1], result.right[2]);
}

void one_block(const kit::Options& options, kit::Report& report) {
  report.quoted("naming the most frequent digit", most_frequent(test_cards(options)), 27, 0.1, "%");
  const Result one = train(1, {"one block", kWhole}, options);
  print_head("");
  print_result("one block", one);
  report.at_least("one block: once", one.right[0], 99, "%");
  report.at_most("one block: twice", one.right[1], 40, "%");
  report.at_most("one block: sum", one.right[2], 40, "%");
}

// ---- 3. The ledger ----------------------------------------------------------------------------------------
//
// Eight blocks are more than this task needs, and that is the point: depth should do no harm. All rows below
// are trained alike, with two blocks and with eight. What to see:
//
//   - Two blocks of attention alone follow the pointer twice. What is missing is the sum, and the
//     feed-forward brings it. (A softmax is not linear either: with eight blocks and no feed-forward,
//     attention finds a way to add most of the time.) Already here a feed-forward without a residual
//     around it is in the way, for what it does not hand on is lost. Norms do not matter yet.
//   - Eight of the same fail. With a residual alone they fail too, and it takes the norm as well to learn.
//     Take either away from the whole, and it is back at guessing: each is needed, neither is enough.
//   - With its norm after the sum, the whole fails at this rate of learning. Section 5 comes back to it.

void ledger(const kit::Options& options, kit::Report& report) {
  kit::Bars losses{"Eight blocks: the loss with each part", "cross-entropy", {}, {}};
  losses.level = {std::log(static_cast<double>(kDigits)), "guessing"};
  kit::Heatmap map{"Share right, with two blocks and with eight",
                   {"once, 2", "twice, 2", "sum, 2", "", "once, 8", "twice, 8", "sum, 8"},
                   {},
                   {}};
  map.numbers = true;
  std::array<std::array<Result, 2>, kRecipes.size()> results;
  for (std::size_t i = 0; i < kRecipes.size(); ++i) {
    results[i] = {train(2, kRecipes[i], options), train(kDeep, kRecipes[i], options)};
    map.rows.emplace_back(kRecipes[i].name);
    for (const double right : results[i][0].right) map.values.push_back(right / 100);
    map.values.push_back(std::nan(""));
    for (const double right : results[i][1].right) map.values.push_back(right / 100);
    losses.bars.push_back({kRecipes[i].name, results[i][1].loss});
  }
  for (std::size_t depth = 0; depth < 2; ++depth) {
    print_head(depth == 0 ? "two blocks" : "eight blocks");
    for (std::size_t i = 0; i < kRecipes.size(); ++i) print_result(kRecipes[i].name, results[i][depth]);
  }
  const auto right = [&](std::size_t recipe, std::size_t depth, std::size_t question) {
    return results[recipe][depth].right[question];
  };
  report.at_least("whole, 8 blocks: twice", right(kAll, 1, 1), 99, "%");
  report.at_least("whole, 8 blocks: sum", right(kAll, 1, 2), 99, "%");
  report.at_most("no residual, 8 blocks: once", right(kNoResidual, 1, 0), 20, "%");
  report.at_most("no residual, 8 blocks: twice", right(kNoResidual, 1, 1), 20, "%");
  report.at_most("no norm, 8 blocks: twice", right(kNoNorm, 1, 1), 40, "%");
  report.at_least("no feed-forward, 2 blocks: twice", right(kWithNorm, 0, 1), 95, "%");
  report.at_most("no feed-forward, 2 blocks: sum", right(kWithNorm, 0, 2), 50, "%");
  report.at_least("whole, 2 blocks: sum", right(kAll, 0, 2), 95, "%");
  kit::show(losses, options.out / "ledger.svg");
  kit::show(map, options.out / "parts.svg");
}

// ---- 4. What residuals keep -------------------------------------------------------------------------------
//
// An attention hands out averages, and first weights make them rather even. Averages of averages of averages
// are all alike: without residuals the ten cards become one and the same vector within a few blocks (Dong,
// Cordonnier and Loukas 2021 prove that it goes doubly exponentially). Where all values are alike it does not
// matter where one looks, and so the gradient of what makes queries and keys is nothing. A residual keeps the
// token itself. Both are measured at the first values, in f64, before any training.

struct Depth {
  std::vector<double> unlike;    // before the first block, after it, …: |x − mean of the tokens| / |x|
  std::vector<double> gradient;  // of W^Q and W^K of each block
};

Depth look_into(const Recipe& recipe, std::uint64_t seed) {
  Reader model(kDeep, recipe.parts);
  model.initialise(seed, DType::f64);
  const Cards cards = deal(kit::Random(seed), kBatch);
  Depth depth;
  Tape tape;
  Tensor x = model.enter(cards);
  const auto measure = [&] {
    const Tensor differs = x - mean(x, {1}, Keep::yes);
    depth.unlike.push_back(std::sqrt(sum(differs * differs).item() / sum(x * x).item()));
  };
  measure();
  for (Size i = 0; i < kDeep; ++i) {
    x = model.stack.blocks[i](x);
    measure();
  }
  tape.backward(cross_entropy(model.answers(model.stack.norm ? (*model.stack.norm)(x) : x), cards.answers));
  for (Size i = 0; i < kDeep; ++i) {
    const MultiHeadAttention& self = model.stack.blocks[i].self;
    depth.gradient.push_back(gradient_norm({self.query.weight, self.key.weight}));
  }
  return depth;
}

void show_depth(const kit::Options& options, kit::Report& report) {
  kit::Chart chart{"Gradient of queries' and keys' weights, before training",
                   "block",
                   "norm",
                   {},
                   {},
                   kit::Scale::linear,
                   kit::Scale::log};
  Depth whole, bare;
  for (const std::size_t i : {kAll, kNoResidual, kNoNorm}) {
    const Depth depth = look_into(kRecipes[i], options.seed);
    const char* name = i == kAll ? "whole" : i == kNoResidual ? "no residual" : "no norm";
    fmt::print("  {:<12} tokens unlike, 0 to 8 blocks: ", name);
    for (const double unlike : depth.unlike) fmt::print(" {:.0e}", unlike);
    fmt::print("\n  {:<12} gradient of W_Q, W_K, 1 to 8:       ", "");
    for (const double gradient : depth.gradient) fmt::print(" {:.0e}", gradient);
    fmt::print("\n");
    chart.series.push_back({name, {1, 2, 3, 4, 5, 6, 7, 8}, depth.gradient});
    if (i == kAll) whole = depth;
    if (i == kNoResidual) bare = depth;
  }
  report.at_least("whole: tokens unlike after 8 blocks", whole.unlike.back(), 0.5);
  report.at_most("no residual: tokens unlike after 8 blocks", bare.unlike.back(), 1e-4);
  kit::show(chart, options.out / "gradients.svg");
}

// ---- 5. What norms allow ----------------------------------------------------------------------------------
//
// The last lines above show it: with residuals but no norms, every block adds to what the one below has
// added. Tokens grow from block to block and scores with their square, a softmax of large scores has its mind
// made up before anything was learned, and a small change of a weight at the bottom throws over everything
// above. Gradients there are thousands of times those of the whole, and, worse, right for tiny steps only:
// that is what no optimiser can divide out. A norm in front of each part shows it tokens of one size, however
// large the sum has become.
//
// So let us look for the largest rate at which a network still learns: Adam without warm-up or clipping, a
// row for each network, the loss at the end. "Learns" means a loss of at most 0.3. With two blocks the norm
// hardly matters. With four, norms before the parts leave a wide range of rates. Norms after the sum leave a
// narrow one, for gradients on their way down pass every norm (Xiong and others 2020; it is why the first
// transformers needed a long warm-up). Without norms there is none at all.

constexpr std::array<double, 5> kRates = {2e-3, 4e-3, 8e-3, 16e-3, 32e-3};

double loss_at(double rate, Size blocks, NormPlace norm, const kit::Options& options) {
  Reader model(blocks, {.norm = norm});
  model.initialise(options.seed);
  Adam adam(model.parameters(), {.learning_rate = rate});
  const Size steps = std::max<Size>(2, 3 * options.steps / 4), last = std::max<Size>(1, steps / 15);
  double late = 0;
  for (Size step = 1; step <= steps; ++step) {
    const Cards cards = deal(kit::Random(options.seed, static_cast<std::uint64_t>(step)), kBatch);
    Tape tape;
    const Tensor loss = cross_entropy(model(cards), cards.answers);
    if (!(loss.item() < 1e6)) return 1e6;  // lost for good
    if (step > steps - last) late += loss.item() / static_cast<double>(last);
    tape.backward(loss);
    adam.step();
  }
  return late;
}

/// Prints a row of losses and draws it; returns the largest rate that learns, or 0.
double scan(const char* name, Size blocks, NormPlace norm, const kit::Options& options, kit::Chart& chart) {
  fmt::print("  {:<12} {} blocks   ", name, blocks);
  kit::Series series{name, {kRates.begin(), kRates.end()}, {}};
  double learns = 0;
  for (const double rate : kRates) {
    const double loss = loss_at(rate, blocks, norm, options);
    if (loss <= 0.3) learns = rate;
    series.y.push_back(std::min(loss, 10.0));
    fmt::print("{:>9}", loss > 10 ? "> 10" : fmt::format("{:.3f}", loss));
  }
  fmt::print("\n");
  chart.series.push_back(series);
  return learns;
}

void show_rates(const kit::Options& options, kit::Report& report) {
  fmt::print("  loss at the rate        ");
  for (const double rate : kRates) fmt::print("{:>9}", rate);
  fmt::print("\n");
  kit::Chart two;
  const double two_pre = scan("norm before", 2, NormPlace::pre, options, two),
               two_none = scan("no norm", 2, NormPlace::none, options, two);
  kit::Chart chart{"Four blocks: loss against learning rate",
                   "learning rate",
                   "loss (10: or more)",
                   {},
                   {{0.3, "learns"}},
                   kit::Scale::log,
                   kit::Scale::log};
  const double pre = scan("norm before", 4, NormPlace::pre, options, chart),
               post = scan("norm after", 4, NormPlace::post, options, chart),
               none = scan("no norm", 4, NormPlace::none, options, chart);
  report.at_least("2 blocks, norm before: largest rate", two_pre, 0.016);
  report.at_least("2 blocks, no norm: largest rate", two_none, 0.004);
  report.at_least("4 blocks, norm before: largest rate", pre, 0.008);
  report.figure("4 blocks, norm after: largest rate", post);
  report.at_most("4 blocks, no norm: largest rate (0: none)", none, 0);
  kit::show(chart, options.out / "rates.svg");
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A block, part by part");
  for (const Recipe& recipe : kRecipes) check_block(recipe, options.seed, report);

  report.section("Follow a pointer twice");
  one_block(options, report);

  report.section("The ledger");
  ledger(options, report);

  report.section("What residuals keep");
  show_depth(options, report);

  report.section("What norms allow");
  show_rates(options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("19_block", "depth needs residuals, norms and a feed-forward");
  program.steps(350, 4);
  return program.run(argc, argv, lesson);
}
