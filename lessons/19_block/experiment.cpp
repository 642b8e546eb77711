// Cards that point to other cards: the models of lesson 19, their training, and the effect of each component.
#include "lessons/19_block/experiment.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/train/loop.hpp"

namespace tapestry::lesson19 {
namespace {

using kit::Cards;

constexpr Size kWidth = 32, kHeads = 2;

BlockOptions options_of(const Parts& parts, Size width, Size heads) {
  return {.width = width,
          .heads = heads,
          .hidden = 2 * width,
          .norm_position = parts.norm,
          .activation = Activation::relu,
          .feed_forward = parts.feed_forward,
          .residual = parts.residual};
}

void check_block(kit::Report& report, const Recipe& recipe, BlockByHand by_hand, std::uint64_t seed) {
  TransformerBlock block(options_of(recipe.parts, 6, 2), {});
  block.initialise(seed, DType::f64);
  const Tensor x = variable(random_normal({2, 4, 6}, seed, DType::f64), "x");
  std::vector<Tensor> leaves = {x};
  for (const Tensor& weight : block.parameters())  // a bias of the keys has no effect (lesson 18)
    if (weight.name() != "self.key.bias") leaves.push_back(weight);
  kit::check_by_hand(
      report, recipe.name, [&] { return by_hand(x, block, recipe.parts); }, [&] { return block(x); }, leaves,
      seed);
}

Cards test_cards(const kit::Options& options) {
  return kit::deal_cards(kit::Random(options.seed, 1'000'000), options.smoke ? 20 : 1000);
}

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
  fmt::print("  {:<22}    loss     once    twice      sum   (% right)\n", what);
}
void print_result(const std::string& name, const Result& result) {
  fmt::print("  {:<22} {:>7.3f} {:>8.1f} {:>8.1f} {:>8.1f}\n", name, result.loss, result.right[kOnce],
             result.right[kTwice], result.right[kSum]);
}

}  // namespace

void check_blocks(kit::Report& report, BlockByHand by_hand, std::uint64_t seed) {
  for (const Recipe& recipe : kRecipes) check_block(report, recipe, by_hand, seed);
}

void check_rule(kit::Report& report, Normed (*normalise)(const Tensor& x),
                Tensor (*gradient_of_x)(const Normed& normed, const Tensor& g), std::uint64_t seed) {
  const Tensor x = variable(random_normal({4, 5, 6}, seed, DType::f64), "x");
  const Tensor g = random_normal(x.shape(), seed + 1, DType::f64);
  Tape tape;
  tape.backward(normalise(x).x_hat, g);
  report.check("the rule agrees with the tape to 1e-12",
               kit::largest(gradient_of_x(normalise(x.detach()), g) - x.grad()) < 1e-12);
}

Reader::Reader(Size blocks, const Parts& parts)
    : places{{*this, "places"}, kit::kCards, kWidth},
      pointers{{*this, "pointers"}, kit::kCards, kWidth},
      digits{{*this, "digits"}, kit::kCardDigits, kWidth},
      stack{{*this, "stack"}, blocks, options_of(parts, kWidth, kHeads), {}},
      answer{{*this, "answer"}, kWidth, kit::kCardQuestions * kit::kCardDigits} {}

Tensor Reader::enter(const kit::Cards& cards) const {
  return places.weight + pointers(cards.pointers) + digits(cards.digits);
}

Tensor Reader::answers(const Tensor& states) const {
  return reshape(answer(states), {states.size(0), kit::kCards, kit::kCardQuestions, kit::kCardDigits});
}

Size batch_of(const kit::Options& options) { return options.smoke ? 4 : 64; }

double most_frequent(const kit::Options& options) { return kit::most_frequent_digit(test_cards(options)); }

Result one_block(const kit::Options& options, kit::Report& report) {
  const Result one = train(1, {"one block"}, options);
  print_head("");
  print_result("one block", one);
  report.at_least("one block: once", one.right[kOnce], 99, "%");
  report.at_most("one block: twice", one.right[kTwice], 40, "%");
  report.at_most("one block: sum", one.right[kSum], 40, "%");
  return one;
}

AblationResults train_each_recipe(const kit::Options& options, kit::Report& report) {
  kit::Bars losses{"Eight blocks: final loss by parts", "cross-entropy", {}, {}};
  losses.level = {std::log(static_cast<double>(kit::kCardDigits)), "guessing"};
  kit::Heatmap map{"Fraction of right answers, with two and with eight blocks",
                   {"once, 2", "twice, 2", "sum, 2", "", "once, 8", "twice, 8", "sum, 8"},
                   {},
                   {}};
  map.numbers = true;
  AblationResults results;
  auto& [two, eight] = results;
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

  report.figure("2 blocks, attention alone, which depends on the seed: twice", two[kAlone].right[kTwice],
                "%");
  report.at_most("2 blocks, no feed-forward: sum", two[kWithNorm].right[kSum], 50, "%");
  report.at_least("2 blocks, whole: sum", two[kWhole].right[kSum], 95, "%");
  report.at_most("2 blocks, no residual: twice", two[kNoResidual].right[kTwice], 60, "%");
  report.at_least("2 blocks, no norm: sum", two[kNoNorm].right[kSum], 95, "%");
  report.at_most("8 blocks, attention alone: once", eight[kAlone].right[kOnce], 40, "%");
  report.at_most("8 blocks, a residual alone: once", eight[kWithResidual].right[kOnce], 40, "%");
  report.at_least("8 blocks, residual and norm: sum", eight[kWithNorm].right[kSum], 60, "%");
  report.at_least("8 blocks, whole: twice", eight[kWhole].right[kTwice], 99, "%");
  report.at_least("8 blocks, whole: sum", eight[kWhole].right[kSum], 99, "%");
  report.at_most("8 blocks, no residual: once", eight[kNoResidual].right[kOnce], 30, "%");
  report.at_most("8 blocks, no norm: once", eight[kNoNorm].right[kOnce], 40, "%");
  report.at_most("8 blocks, norm after: once", eight[kPost].right[kOnce], 40, "%");
  kit::show(losses, options.out / "ledger.svg");
  kit::show(map, options.out / "parts.svg");
  return results;
}

}  // namespace tapestry::lesson19
