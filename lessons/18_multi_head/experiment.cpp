// Two questions at once: the models of lesson 18, their training, the removal of heads, and the pictures.
#include "lessons/18_multi_head/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "core/core.hpp"
#include "lessons/18_multi_head/maps.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/transformer/cache.hpp"

namespace tapestry::lesson18 {
namespace {

kit::TwoQuestions test_questions(const kit::Options& options) {
  return kit::draw_two_questions(kit::Random(options.seed, 1'000'000), options.smoke ? 100 : 5000);
}

Right count(const Answerer& model, const kit::TwoQuestions& test) {
  const Indices written = argmax(model(test));
  return {kit::percent_equal(written.column(0), test.answers.column(0)),
          kit::percent_equal(written.column(1), test.answers.column(1)),
          kit::percent_rows_equal(written, test.answers)};
}

Right train(Answerer& model, const std::string& name, const kit::Options& options,
            MapRecorder* recorder = nullptr) {
  const Size batch = options.smoke ? 16 : 128;
  model.initialise(options.seed);
  const auto look = [&](Size step) {
    if (recorder) recorder->after(step, model);
  };
  look(0);
  kit::train(model,
             {.name = name,
              .steps = options.steps,
              .batch = batch,
              .unit = "questions",
              .seed = options.seed,
              .after_step = look},
             [&](kit::Random random) {
               const kit::TwoQuestions asked = kit::draw_two_questions(random, batch);
               return cross_entropy(model(asked), asked.answers);
             });
  return count(model, test_questions(options));
}

void print_weights(const Answerer& model, const kit::TwoQuestions& test) {
  const Tensor weights = weights_for(model, test), places = one_hot(test.places, kit::kListPairs);
  const Tensor on = 100 * mean(matmul(weights, transpose(places)), {0});  // (H, 2)
  for (Size head = 0; head < on.size(0); ++head) {
    const double first = on.at({head, 0}), second = on.at({head, 1});
    fmt::print("  head {} of {}: {:5.1f} % on the first key, {:5.1f} % on the second, {:5.1f} % elsewhere\n",
               head + 1, on.size(0), first, second, 100 - first - second);
  }
}

Right without(const Answerer& model, Size head, const kit::TwoQuestions& test) {
  const std::unique_ptr<Answerer> less = clone(model);
  Parameter& out = less->attention.output.weight;  // (width, H · d_v)
  const Size heads = model.attention.options().heads;
  std::vector<double> on(static_cast<std::size_t>(heads), 1);
  on[static_cast<std::size_t>(head)] = 0;
  const Tensor blocks = reshape(out, {kWidth, heads, out.size(1) / heads}) * tensor(on, {heads, 1});
  assign(out, reshape(blocks, out.shape()));
  return count(*less, test);
}

void draw_without(const Answerer& model, const kit::TwoQuestions& test, const kit::Options& options) {
  kit::Bars bars{"Accuracy lost when one of four heads is removed", "percentage points", {}, {}};
  const Right all = count(model, test);
  for (Size head = 0; head < 4; ++head) {
    const Right less = without(model, head, test);
    bars.bars.push_back({fmt::format("without head {}: first answer", head + 1), all.first - less.first});
    bars.bars.push_back({"second answer", all.second - less.second});
  }
  kit::show(bars, options.out / "ablation.svg");
}

/// Returns the bytes per token that a KeyValueCache holds for this layer, counted in the cache's tensors.
double bytes_in_cache(const MultiHeadAttention& layer) {
  constexpr Size kTokens = 5;
  const Tensor text = random_normal({1, kTokens, layer.options().width}, 1);
  const PreparedKV memory = layer.prepare(text, text);
  KeyValueCache cache(kTokens);
  cache.append(memory.keys, memory.values);
  double bytes = 0;
  for (const Tensor& kept : {cache.keys(), cache.values()})
    bytes += static_cast<double>(kept.shape().count()) * static_cast<double>(bytes_of(kept.dtype()));
  return bytes / kTokens;
}

}  // namespace

Answerer::Answerer(const MultiHeadOptions& options, const ByHand* by_hand_in)
    : keys{{*this, "keys"}, kit::kListKeys, kWidth},
      digits{{*this, "digits"}, kit::kListDigits, kWidth},
      first{{*this, "first"}, kit::kListKeys, kWidth},
      second{{*this, "second"}, kit::kListKeys, kWidth},
      attention{{*this, "attention"}, options},
      answer{{*this, "answer"}, kWidth, 2 * kit::kListDigits},
      by_hand(by_hand_in) {}

Tensor Answerer::operator()(const kit::TwoQuestions& asked) const {
  // The question's first and second key have separate embedding tables, so the model can tell them apart.
  const Tensor question = first(asked.first) + second(asked.second);  // (B, 1, 64)
  const Tensor list = keys(asked.keys) + digits(asked.digits);        // (B, 12, 64)
  const Tensor found = by_hand ? by_hand->layer(attention, question, list, list, {}, by_hand->wrongly)
                               : attention(question, list, list).context;
  return reshape(answer(found), {found.size(0), 2, kit::kListDigits});
}

Compared compare_heads(const ByHand& by_hand, const kit::Options& options, kit::Report& report) {
  Compared compared;
  kit::Bars bars{"Both digits right, by the number of heads at equal cost", "% of questions", {}, {}};
  bars.level = {99, "target for 2 to 16 heads"};
  MapRecorder recorder(options);
  for (const Size heads : {1, 2, 4, 8, 16, 64}) {
    Answerer& model =
        compared.models.try_emplace(heads, MultiHeadOptions{.width = kWidth, .heads = heads}).first->second;
    compared.right[heads] =
        train(model, fmt::format("heads: {}", heads), options, heads <= 4 ? &recorder : nullptr);
  }
  compared.maps = recorder.series();
  Answerer wrong({.width = kWidth, .heads = 4}, &by_hand);
  compared.reshaped = train(wrong, "heads: 4, split by a reshape", options);

  fmt::print("                          d_k    first %  second %   both %\n");
  const auto row = [&](const std::string& name, Size heads, const Right& right) {
    fmt::print("  {:<20} {:>6} {:>10.1f} {:>9.1f} {:>8.1f}\n", name, kWidth / heads, right.first,
               right.second, right.both);
    bars.bars.push_back({name, right.both});
  };
  for (const auto& [heads, right] : compared.right)
    row(fmt::format("{} head{}", heads, heads > 1 ? "s" : ""), heads, right);
  row("4 heads, reshaped", 4, compared.reshaped);
  report.at_most("both digits right, one head", compared.right[1].both, 30, "%");
  report.at_least("one head: the better of its two digits",
                  std::max(compared.right[1].first, compared.right[1].second), 90, "%");
  for (const Size heads : {2, 4, 8, 16})
    report.at_least(fmt::format("both digits right, {} heads", heads), compared.right[heads].both, 99, "%");
  report.at_most("both digits right, 64 heads", compared.right[64].both, 80, "%");
  report.at_most("both digits right, heads split by a reshape", compared.reshaped.both, 97, "%");
  report.at_least("heads split by a reshape: the better digit",
                  std::max(compared.reshaped.first, compared.reshaped.second), 50, "%");
  kit::show(bars, options.out / "heads.svg");
  return compared;
}

void show_weights(const Compared& compared, const kit::Options& options) {
  const kit::TwoQuestions test = test_questions(options);
  for (const Size heads : {1, 2, 4}) print_weights(compared.models.at(heads), test);
  draw_weights(compared.models.at(4), options);
  kit::save(compared.maps, options.out / "two_questions_over_training.json");
}

Ablated ablate(const Compared& compared, const kit::Options& options, kit::Report& report) {
  const kit::TwoQuestions test = test_questions(options);
  const Answerer& two = compared.models.at(2);
  Right a = without(two, 0, test), b = without(two, 1, test);
  if (a.second < a.first) std::swap(a, b);  // a: the head of the first question is out
  report.at_most("two heads: first digit without its head", a.first, 30, "%");
  report.at_least("  second digit without that head", a.second, 95, "%");
  report.at_most("two heads: second digit without its head", b.second, 30, "%");
  report.at_least("  first digit without that head", b.first, 95, "%");
  draw_without(compared.models.at(4), test, options);
  return {std::max(a.first, b.second), std::min(a.second, b.first)};
}

double share_keys(const Compared& compared, double (*bytes)(const MultiHeadOptions&),
                  const kit::Options& options, kit::Report& report) {
  Answerer grouped({.width = kWidth, .heads = 4, .kv_heads = 2}),
      multi_query({.width = kWidth, .heads = 4, .kv_heads = 1}),
      lean({.width = kWidth, .heads = 2, .head_width = 4, .value_head_width = 32});
  const double of_four = compared.right.at(4).both,
               of_two = train(grouped, "4 heads, 2 of keys", options).both,
               of_one = train(multi_query, "4 heads, 1 of keys", options).both,
               of_lean = train(lean, "2 heads, d_v = 32", options).both;

  bool same = true;
  fmt::print("                                                      bytes per token and layer\n");
  fmt::print("                           G   d_k   d_v   both %    by shapes   in a cache\n");
  const auto row = [&](const std::string& name, const std::string& right, const MultiHeadAttention& layer) {
    const MultiHeadOptions& of = layer.options();
    const double counted = bytes_in_cache(layer);
    same = same && counted == bytes(of);
    fmt::print("  {:<22} {:>4} {:>5} {:>5} {:>8} {:>12.0f} {:>12.0f}\n", name, of.kv_heads, of.head_width,
               of.value_head_width, right, bytes(of), counted);
    return counted;
  };
  const auto percent = [](double right) { return fmt::format("{:.1f}", right); };
  row("4 heads", percent(of_four), compared.models.at(4).attention);
  row("4 heads, 2 of keys", percent(of_two), grouped.attention);
  row("4 heads, 1 of keys", percent(of_one), multi_query.attention);
  row("2 heads", percent(of_lean), lean.attention);
  std::map<Size, double> gib;  // by the number of key heads
  for (const Size groups : {32, 8, 1}) {
    MultiHeadAttention large({.width = kWidth, .heads = 32, .kv_heads = groups, .head_width = 128});
    large.initialise(options.seed);
    const std::string name = groups == 32 ? "32 heads" : fmt::format("32 heads, {} of keys", groups);
    gib[groups] = row(name, "", large) * 32 * 8192 / (1 << 30);
  }
  report.check("bytes computed from the shapes = bytes in the cache's tensors", same);
  report.at_least("both digits right, 4 heads, 2 of keys", of_two, 99, "%");
  report.at_least("both digits right, 4 heads, 1 of keys", of_one, 99, "%");
  report.at_least("both digits right, 2 heads, d_k = 4, d_v = 32", of_lean, 99, "%");
  report.figure("32 layers, 8,192 tokens: 32 heads of keys", gib[32], "GiB");
  report.figure("  8 heads of keys", gib[8], "GiB");
  report.figure("  1 head of keys", gib[1], "GiB");
  return gib[32];
}

}  // namespace tapestry::lesson18
