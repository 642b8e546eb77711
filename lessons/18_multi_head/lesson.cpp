// 18 multi_head: several questions at once
//
// An attention gives each query one row of weights, and the row adds up to 1. So a token that wants two
// things at once gets them mixed: half of this and half of that, and nothing says which half was which.
// Vaswani and others (2017) gave the layer several *heads*. Each asks a question of its own, in a narrower
// space of its own, and what they find is put side by side, so that nothing is mixed.
//
// You will: 1 compute heads one after another, then all at once by split, attend, merge, and see what goes
// wrong when a reshape stands where a transpose should; 2 check it, with heads that share keys too, against
// nn/'s; 3 train one head, two, and up to 64 at equal cost to answer two questions at once; 4 see which head
// asked what; 5 take heads out, to prove it; 6 let heads share their keys.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/core.hpp"
#include "lessons/18_multi_head/two_questions.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/attention/multi_head.hpp"
#include "nn/embedding.hpp"

using namespace tapestry;
using kit::largest, kit::weights_of;

namespace {

// ---- 1. Split, attend, merge ------------------------------------------------------------------------------
//
// The definition is a loop over H heads. Head i has three matrices of its own and attends as in lesson 8; the
// results stand side by side, and one more matrix brings them back to the layer's width:
//
//     Q_i = queries W_i^Qᵀ     K_i = keys W_i^Kᵀ     V_i = values W_i^Vᵀ
//     head_i = softmax(Q_i K_iᵀ / √d_k) V_i
//     result = [head_1, …, head_H] W^Oᵀ              with biases where you like
//
// d_k is the width in which a head compares, d_v the width of what it brings home. They need not be equal.
// With d_k = d_v = width / H the layer has the same number of weights whatever H is.
//
// All heads' matrices are kept as one: W^Q (H · d_k, width) holds W_1^Q in its first d_k rows, and so on. In
// *grouped-query* attention there are only G heads of keys and values, and H / G neighbouring heads of
// queries use the same one.

/// x through head i's rows of a layer that keeps `heads` of them in one matrix.
Tensor through_head(const Linear& all, const Tensor& x, Size i, Size heads) {
  const Size d = all.weight.size(0) / heads;
  return linear(x, slice(all.weight, 0, i * d, (i + 1) * d), slice(all.bias, 0, i * d, (i + 1) * d));
}

/// → (B, Tq, width)
Tensor one_after_another(const MultiHeadAttention& layer, const Tensor& queries, const Tensor& keys,
                         const Tensor& values, const Mask& mask) {
  const Size heads = layer.options().heads, groups = layer.options().key_heads;
  std::vector<Tensor> found;
  for (Size i = 0; i < heads; ++i) {
    const Size group = i / (heads / groups);
    const Tensor q = through_head(layer.query, queries, i, heads);
    const Tensor k = through_head(layer.key, keys, group, groups);
    const Tensor v = through_head(layer.value, values, group, groups);
    const Tensor alpha =
        masked_softmax(matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1))), mask);
    found.push_back(matmul(alpha, v));
  }
  return linear(concat(found, -1), layer.output.weight, layer.output.bias);
}

// That is H small products where one large one would do, and a processor likes large ones (lesson 4). So all
// heads' queries are computed at once, (B, T, H · d), and then parted. Head i's numbers are columns i · d to
// (i + 1) · d of every token: the last axis is taken apart into (H, d), and H changes places with T. After
// that, H is one more batch axis, and the attention of lesson 8 runs as it is.

/// (B, T, H · d) → (B, H, T, d)
Tensor split_heads(const Tensor& x, Size heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}
/// (B, H, T, d) → (B, T, H · d)
Tensor merge_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

// There is a shortcut that many have taken: reshape (B, T, H · d) to (B, H, T, d) at once. The shape is right
// and nothing complains. But a reshape keeps the order of the numbers in memory, and there the tokens come
// one after another: the first "head" gets the first T / H tokens, cut to pieces, and never sees the others.
// Training does not complain either, as section 3 shows. It ends worse, no error says why, and so such a bug
// lives long.

Tensor split_wrongly(const Tensor& x, Size heads) {
  return reshape(x, {x.size(0), heads, x.size(1), x.size(2) / heads});
}

using Split = Tensor (*)(const Tensor& x, Size heads);

/// Keys or values of G groups, each repeated for all heads that it serves: (B, G, T, d) → (B, H, T, d).
Tensor serve(const Tensor& x, Size heads) {
  const Size batch = x.size(0), groups = x.size(1), each = heads / groups, time = x.size(2), d = x.size(3);
  return reshape(expand(unsqueeze(x, 2), {batch, groups, each, time, d}), {batch, heads, time, d});
}

/// → (B, Tq, width)
Tensor split_attend_merge(const MultiHeadAttention& layer, const Tensor& queries, const Tensor& keys,
                          const Tensor& values, const Mask& mask, Split split = split_heads) {
  const Size heads = layer.options().heads, groups = layer.options().key_heads;
  const Tensor q = split(layer.query(queries), heads);
  const Tensor k = serve(split(layer.key(keys), groups), heads);
  const Tensor v = serve(split(layer.value(values), groups), heads);
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
  // A mask (B, Tq, Tk) says nothing of heads: it gets an axis for them, and broadcasts.
  const Tensor weights = mask.defined() ? masked_softmax(scores, mask.unsqueeze(1)) : softmax(scores, -1);
  return layer.output(merge_heads(matmul(weights, v)));
}

void print_split(const char* name, const Tensor& x) {
  for (Size head = 0; head < x.size(1); ++head) {
    fmt::print("  {:<12} head {}: ", head == 0 ? name : "", head + 1);
    for (Size t = 0; t < x.size(2); ++t)
      fmt::print("  [{:.0f} {:.0f}]", x.at({0, head, t, 0}), x.at({0, head, t, 1}));
    fmt::print("\n");
  }
}

void show_split(kit::Report& report) {
  const Tensor x = tensor({{{11, 12, 13, 14}, {21, 22, 23, 24}, {31, 32, 33, 34}}}, DType::f64);
  fmt::print("  three tokens, 11 … 14, 21 … 24, 31 … 34, for two heads:\n");
  print_split("transposed", split_heads(x, 2));
  print_split("reshaped", split_wrongly(x, 2));
  report.check("merge undoes split", largest(merge_heads(split_heads(x, 2)) - x) == 0);
  report.check("second head's second token is 23, 24", split_heads(x, 2).at({0, 1, 1, 0}) == 23);
}

// ---- 2. The same with nn/ ---------------------------------------------------------------------------------
//
// nn/'s MultiHeadAttention does the same without moving a number: its heads are strided views, read in place
// by the products, and keys of a group are read by several heads without being repeated. Below, queries, keys
// and values all differ in width, and the second row of the batch has two tokens of padding.
//
// One weight is left out of the gradcheck. A bias b of the keys adds the same q · b to all scores of a row,
// and a softmax does not see that: the gradient is 0, and there is only rounding to compare. Many a model
// carries this weight along all the same.

void check_layer(const char* name, const MultiHeadOptions& options, std::uint64_t seed, kit::Report& report) {
  constexpr DType f64 = DType::f64;
  MultiHeadAttention layer(options);
  layer.initialise(seed, f64);
  const Tensor queries = variable(random_normal({2, 3, options.width}, seed + 1, f64), "queries"),
               keys = variable(random_normal({2, 5, options.key_width}, seed + 2, f64), "keys"),
               values = variable(random_normal({2, 5, options.value_width}, seed + 3, f64), "values");
  const Mask mask = ValidLengths{5, 3}.mask(5);
  std::vector<Tensor> leaves = {queries, keys, values};
  for (const Tensor& weight : layer.parameters())
    if (weight.name() != "key.bias") leaves.push_back(weight);

  const auto loop = [&] { return one_after_another(layer, queries, keys, values, mask); };
  const auto at_once = [&] { return split_attend_merge(layer, queries, keys, values, mask); };
  const auto by_nn = [&] { return layer(queries, keys, values, mask).context; };
  kit::check_by_hand(report, fmt::format("{}, a loop", name), loop, by_nn, leaves, seed);
  kit::check_by_hand(report, fmt::format("{}, at once", name), at_once, by_nn, leaves, seed);
  const Tensor wrong = split_attend_merge(layer, queries, keys, values, mask, split_wrongly);
  report.check(fmt::format("{}, split by a reshape: another result", name), largest(wrong - loop()) > 0.01);
}

void check_layers(std::uint64_t seed, kit::Report& report) {
  MultiHeadOptions options{.width = 8, .heads = 4, .key_width = 6, .value_width = 5};
  check_layer("four heads", options, seed, report);
  options.head_width = 3;
  options.value_head_width = 5;
  check_layer("d_k = 3, d_v = 5", options, seed, report);
  options.key_heads = 2;
  check_layer("two heads of keys", options, seed, report);
  options.key_heads = 1;
  check_layer("one head of keys", options, seed, report);
}

// ---- 3. Two questions at once -----------------------------------------------------------------------------
//
// A list has twelve pairs of a key (one of 32) and a digit, in one token each. Then one token asks for two
// keys, in this order, and the answer is both digits, in this order:
//
//     list  k3 c0 P7 a7 …        question  c, k        answer  0, 3
//
// What can one head do? It can look at both keys, half and half. Then it brings home a mixture of 0 and 3,
// and the layer after it can read off the two digits but not which was first. It could look at the first key
// alone, and guess the second digit. It could look a little harder at the first than at the second, but then
// what follows must tell six tenths from four, and a linear layer reads the stronger digit as the stronger
// answer to both questions. You will see it end with one answer and a guess, and the seed decides which. Two
// heads look at one key each, and W^O puts the two digits in different places.
//
// "At equal cost": 64 numbers wide, whatever the number of heads, so the weights are as many and the products
// as large; only the softmaxes are one per head. 1 head compares in 64 dimensions, 64 heads in one. Vaswani
// and others (2017) translated best with 8 or 16 heads of their 512; 1 was worse, and 32 was worse than 16.
// Here is the same curve: too few fail, and so do too many. A head of one dimension can prefer large keys or
// small ones, but nothing in between: it cannot find one of 32. Yet there are 64 of these, and together they
// find something.

constexpr Size kWidth = 64;

MultiHeadOptions heads_of(Size heads, Size key_heads = 0) {
  return {.width = kWidth, .heads = heads, .key_heads = key_heads};
}

struct Answerer : Module {
  explicit Answerer(const MultiHeadOptions& options)
      : keys{{*this, "keys"}, kit::kListKeys, kWidth},
        digits{{*this, "digits"}, kit::kListDigits, kWidth},
        first{{*this, "first"}, kit::kListKeys, kWidth},
        second{{*this, "second"}, kit::kListKeys, kWidth},
        attention{{*this, "attention"}, options},
        answer{{*this, "answer"}, kWidth, 2 * kit::kListDigits} {}

  /// Logits (B, 2, 10): with nn/'s layer, or by hand where a split is given.
  Tensor operator()(const kit::TwoQuestions& asked, Split split = nullptr) const {
    // The question's two keys have tables of their own: that tells which is first.
    const Tensor question = first(asked.first) + second(asked.second);  // (B, 1, 64)
    const Tensor list = keys(asked.keys) + digits(asked.digits);        // (B, 12, 64)
    const Tensor found = split ? split_attend_merge(attention, question, list, list, {}, split)
                               : attention(question, list, list).context;
    return reshape(answer(found), {found.size(0), 2, kit::kListDigits});
  }

  Embedding keys, digits, first, second;
  MultiHeadAttention attention;
  Linear answer;
};

struct Right {
  double first = 0, second = 0, both = 0;  // per cent
};

Right count(const Tensor& logits, const kit::TwoQuestions& asked) {
  const Indices written = argmax(logits);
  return {kit::percent_equal(written.column(0), asked.answers.column(0)),
          kit::percent_equal(written.column(1), asked.answers.column(1)),
          kit::percent_rows_equal(written, asked.answers)};
}

kit::TwoQuestions test_questions(const kit::Options& options) {
  return kit::draw_two_questions(kit::Random(options.seed, 1'000'000), options.smoke ? 100 : 5000);
}

Right train(Answerer& model, const std::string& name, const kit::Options& options, Split split = nullptr) {
  const Size batch = options.smoke ? 16 : 128;
  model.initialise(options.seed);
  kit::train(
      model,
      {.name = name, .steps = options.steps, .batch = batch, .unit = "questions", .seed = options.seed},
      [&](kit::Random random) {
        const kit::TwoQuestions asked = kit::draw_two_questions(random, batch);
        return cross_entropy(model(asked, split), asked.answers);
      });
  const kit::TwoQuestions test = test_questions(options);
  return count(model(test, split), test);
}

void print_head() { fmt::print("                          d_k  parameters    first %  second %   both %\n"); }

void print_row(const std::string& name, const Answerer& model, const Right& right) {
  fmt::print("  {:<20} {:>6} {:>11} {:>10.1f} {:>9.1f} {:>8.1f}\n", name,
             model.attention.options().head_width, weights_of(model.attention), right.first, right.second,
             right.both);
}

void compare_heads(std::deque<Answerer>& models, const kit::Options& options, kit::Report& report) {
  std::vector<Right> rights;
  const std::array<Size, 6> numbers = {1, 2, 4, 8, 16, 64};
  for (const Size heads : numbers)
    rights.push_back(train(models.emplace_back(heads_of(heads)), fmt::format("heads: {}", heads), options));
  Answerer reshaped(heads_of(4));
  const Right wrong = train(reshaped, "heads: 4, split by a reshape", options, split_wrongly);

  kit::Bars bars{"Both digits right, by the number of heads at equal cost", "% of questions", {}, {}};
  bars.level = {99, "target for 2 to 16 heads"};
  print_head();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string name = fmt::format("{} head{}", numbers[i], numbers[i] > 1 ? "s" : "");
    print_row(name, models[i], rights[i]);
    bars.bars.push_back({name, rights[i].both});
  }
  print_row("4 heads, reshaped", reshaped, wrong);
  bars.bars.push_back({"4 heads, reshaped", wrong.both});
  report.at_most("both digits right, one head", rights[0].both, 30, "%");
  report.at_least("one head: its better answer", std::max(rights[0].first, rights[0].second), 90, "%");
  for (std::size_t i = 1; i < 5; ++i)
    report.at_least(fmt::format("both digits right, {} heads", numbers[i]), rights[i].both, 99, "%");
  report.at_most("both digits right, 64 heads", rights[5].both, 80, "%");
  report.at_most("both right, heads split by a reshape", wrong.both, 97, "%");
  kit::show(bars, options.out / "heads.svg");
}

// ---- 4. Which head asked what -----------------------------------------------------------------------------
//
// Nobody told a head which question is its own. The loss did, and it differs from seed to seed: with two
// heads one settles on each question, with four some work together, and some have little to do. For every
// head here is the weight that it gave to the key asked first, to the one asked second, and to the ten
// others. The picture shows three questions about one list, with four heads.

/// (B, H, 12)
Tensor weights_for(const Answerer& model, const kit::TwoQuestions& asked) {
  const WeightRecorder recorder(model.attention.attention);  // while it lives, it keeps the weights
  model(asked);
  return squeeze(recorder.weights().front(), 2);
}

void show_heads(const Answerer& model, const kit::TwoQuestions& test) {
  const Tensor weights = weights_for(model, test), places = one_hot(test.places, kit::kListPairs);
  const Tensor on = 100 * mean(matmul(weights, transpose(places)), {0});  // (H, 2)
  for (Size head = 0; head < on.size(0); ++head) {
    const double first = on.at({head, 0}), second = on.at({head, 1});
    fmt::print("  head {} of {}: {:5.1f} % on the first key, {:5.1f} % on the second, {:5.1f} % elsewhere\n",
               head + 1, on.size(0), first, second, 100 - first - second);
  }
}

void draw_heads(const Answerer& model, const kit::Options& options) {
  const kit::TwoQuestions shown = kit::draw_two_questions(kit::Random(options.seed, 2'000'000), 3, true);
  const Tensor weights = weights_for(model, shown);
  const std::vector<std::int64_t> keys = shown.keys.to_vector(), digits = shown.digits.to_vector(),
                                  first = shown.first.to_vector(), second = shown.second.to_vector();
  kit::Heatmap map{"Where four heads looked: three questions, one list of keys and digits", {}, {}, {}};
  for (std::size_t i = 0; i < kit::kListPairs; ++i)
    map.columns.push_back(fmt::format("{}{}", kit::key_letter(keys[i]), digits[i]));
  for (std::size_t q = 0; q < first.size(); ++q) {
    if (q > 0) {  // a gap
      map.rows.emplace_back();
      map.values.insert(map.values.end(), kit::kListPairs, std::nan(""));
    }
    for (Size head = 0; head < weights.size(1); ++head) {
      map.rows.push_back(
          fmt::format("{}, {}?  head {}", kit::key_letter(first[q]), kit::key_letter(second[q]), head + 1));
      const std::vector<double> row = select(select(weights, 0, static_cast<Size>(q)), 0, head).to_vector();
      map.values.insert(map.values.end(), row.begin(), row.end());
    }
  }
  kit::show(map, options.out / "head_grid.svg");
}

// ---- 5. Take a head out -----------------------------------------------------------------------------------
//
// Weights show where a head looked, not whether it mattered (lesson 11). To know that, take it out. Seen from
// W^O the heads are a sum, since W^O is as many blocks side by side as there are heads:
//
//     result = Σ_i head_i W_i^Oᵀ
//
// so a head is taken out by a W_i^O of zeros, and nothing else has to change. The model is not trained again:
// what it loses is what this head did.

Right without(const Answerer& model, Size head, const kit::TwoQuestions& test) {
  const std::unique_ptr<Answerer> less = clone(model);
  Parameter& out = less->attention.output.weight;  // (width, H · d_v)
  const Size heads = model.attention.options().heads;
  std::vector<double> on(static_cast<std::size_t>(heads), 1);
  on[static_cast<std::size_t>(head)] = 0;
  const Tensor blocks = reshape(out, {kWidth, heads, out.size(1) / heads}) * tensor(on, {heads, 1});
  assign(out, reshape(blocks, out.shape()));
  return count((*less)(test), test);
}

void take_out(const Answerer& two, const Answerer& four, const kit::TwoQuestions& test,
              const kit::Options& options, kit::Report& report) {
  // Of two heads each answers one question: without it that answer is lost, and the other stays.
  Right a = without(two, 0, test), b = without(two, 1, test);
  if (a.second < a.first) std::swap(a, b);  // a: the head of the first question is out
  report.at_most("two heads: first answer without its head", a.first, 30, "%");
  report.at_least("  the second without that head", a.second, 95, "%");
  report.at_most("two heads: second answer without its head", b.second, 30, "%");
  report.at_least("  the first without that head", b.first, 95, "%");

  kit::Bars bars{"Four heads, one taken out: what each answer loses", "percentage points", {}, {}};
  const Right all = count(four(test), test);
  for (Size head = 0; head < 4; ++head) {
    const Right less = without(four, head, test);
    bars.bars.push_back({fmt::format("without head {}: first answer", head + 1), all.first - less.first});
    bars.bars.push_back({"second answer", all.second - less.second});
  }
  kit::show(bars, options.out / "ablation.svg");
}

// ---- 6. Sharing keys --------------------------------------------------------------------------------------
//
// A model that writes keeps the keys and values of all words so far (lesson 20), G · (d_k + d_v) numbers for
// each word and layer, and reads them all again for every new word. With G = H, as usual, that is much.
// Shazeer (2019) let all heads of queries share one head of keys and values, *multi-query* attention; Ainslie
// and others (2023) let groups share, *grouped-query* attention. Questions stay as many as they were, and
// only the index they search is shared. For our two questions that is enough: both search the same list in
// the same way. Nor need d_k be as large as d_v: two heads that compare in 4 dimensions and bring home 32
// numbers do as well.

void share_keys(const Answerer& four, const kit::TwoQuestions& test, const kit::Options& options,
                kit::Report& report) {
  MultiHeadOptions narrow = heads_of(2);
  narrow.head_width = 4;
  narrow.value_head_width = 32;
  Answerer grouped(heads_of(4, 2)), multi_query(heads_of(4, 1)), lean(narrow);
  const auto run = [&](const char* name, Answerer& model) {
    const Right right = train(model, name, options);
    print_row(name, model, right);
    return right.both;
  };
  print_head();
  print_row("4 heads", four, count(four(test), test));
  const double two_of_keys = run("4 heads, 2 of keys", grouped),
               one_of_keys = run("4 heads, 1 of keys", multi_query), little = run("2 heads, d_v = 32", lean);
  report.at_least("both right, 4 heads, 2 of keys", two_of_keys, 99, "%");
  report.at_least("both right, 4 heads, 1 of keys", one_of_keys, 99, "%");
  report.at_least("both right, 2 heads, d_k = 4, d_v = 32", little, 99, "%");
  for (const Answerer* model : std::array<const Answerer*, 4>{&four, &grouped, &multi_query, &lean}) {
    const MultiHeadOptions& of = model->attention.options();
    report.figure(fmt::format("kept per word, G = {}, d_k = {}, d_v = {}", of.key_heads, of.head_width,
                              of.value_head_width),
                  static_cast<double>(of.key_heads * (of.head_width + of.value_head_width)));
  }
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Split, attend, merge");
  show_split(report);

  report.section("The same with nn/");
  check_layers(options.seed, report);

  report.section("Two questions at once");
  std::deque<Answerer> models;  // 1, 2, 4, … heads
  compare_heads(models, options, report);

  report.section("Which head asked what");
  const kit::TwoQuestions test = test_questions(options);
  for (std::size_t i = 0; i < 3; ++i) show_heads(models[i], test);
  draw_heads(models[2], options);

  report.section("Take a head out");
  take_out(models[1], models[2], test, options, report);

  report.section("Sharing keys");
  share_keys(models[2], test, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("18_multi_head", "several questions at once");
  program.steps(1000, 15);
  return program.run(argc, argv, lesson);
}
