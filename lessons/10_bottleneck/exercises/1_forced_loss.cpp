// 10.1 forced_loss: The loss under teacher forcing
// implement, 15 minutes
//
// Compute the loss of a decoder under teacher forcing, where the input of each step is the right previous symbol.
//
// Each row of targets (B, T) holds <start> y_1 … y_n <end>. Short rows are padded with the symbol kPad.
//
//     s_0 = code,    s_t = cell(e(y_{t−1}), s_{t−1}),    logits_t = O s_t,
//     loss = mean of −log softmax(logits_t)[y_t] over t = 1 … T − 1, without the positions where y_t is padding
//
// y_0 is <start>. code has the shape (B, H). table (V, E) has a vector e for each of the V symbols. O is
// `out`, (V, H).
#include "lessons/grader/answer.hpp"

constexpr std::int64_t kPad = 0;

Tensor forced_loss(const Indices& targets, const Tensor& code, const Tensor& table, const GRUCell& cell,
                   const Tensor& out) {
  const Size time = targets.shape()[1];
  //[ about eight lines; targets.column(t) is (B), targets.columns(a, b) is (B, b − a)
  //: static_cast<void>(time);
  //: return not_written_yet();
  Tensor s = code;
  std::vector<Tensor> logits;
  for (Size t = 1; t < time; ++t) {
    s = cell(embedding(table, targets.column(t - 1)), s).hidden;  // the input is the symbol *before* y_t
    logits.push_back(matmul(s, transpose(out)));                  // (B, V)
  }
  const Indices wanted = targets.columns(1, time);                   // y_1 …, (B, T − 1)
  return cross_entropy(stack(logits, 1), wanted, {.ignore = kPad});  // padding is not in the mean
  //]
}

// hint: A row of T symbols needs T − 1 steps. Which symbol is the input of the first step, and which is its target?
// hint: s = cell(embedding(table, targets.column(____)), s).hidden. Then append matmul(s, transpose(out)) to a
//   std::vector<Tensor>.
// hint: stack(logits, 1) has the shape (B, T − 1, V). Use
//   cross_entropy(…, targets.columns(1, time), {.ignore = ____}).
//
// wrong: The input of step t is y_t, which is also its target. The loss then falls to 0. But in free decoding, the
//   decoder writes nonsense, because y_t is not known there.
// - s = cell(embedding(table, targets.column(t - 1)), s).hidden;  // the input is the symbol *before* y_t
// + s = cell(embedding(table, targets.column(t)), s).hidden;
// wrong: The input of each step is the symbol that the decoder wrote. That is free decoding. Teacher forcing uses the
//   right symbol.
// - s = cell(embedding(table, targets.column(t - 1)), s).hidden;  // the input is the symbol *before* y_t
// + const Indices fed = t == 1 ? targets.column(0) : argmax(logits.back());
// + s = cell(embedding(table, fed), s).hidden;
// wrong: Each step starts from the code, so your decoder knows only the previous symbol and nothing of those before.
// - s = cell(embedding(table, targets.column(t - 1)), s).hidden;  // the input is the symbol *before* y_t
// + s = cell(embedding(table, targets.column(t - 1)), code).hidden;
// wrong: The target of each step is its input, so a decoder that copies its input would have no loss. The target is
//   the next symbol.
// - const Indices wanted = targets.columns(1, time);
// + const Indices wanted = targets.columns(0, time - 1);
// wrong: You don't ignore padding. The decoder learns to write it, and short rows make up most of the loss.
// - return cross_entropy(stack(logits, 1), wanted, {.ignore = kPad});
// + return cross_entropy(stack(logits, 1), wanted);
// wrong: You return the sum, not the mean. Batches with more symbols then have larger gradients.
// - return cross_entropy(stack(logits, 1), wanted, {.ignore = kPad});
// + return cross_entropy(stack(logits, 1), wanted, {.ignore = kPad, .reduce = Reduce::sum});
// wrong: You compute the mean of the means of the steps. Late steps have few rows left, so each of these rows counts
//   for more than in the formula. There, all positions that are not padding count equally.
// - return cross_entropy(stack(logits, 1), wanted, {.ignore = kPad});
// + Tensor total = scalar(0, code.dtype());
// + for (Size t = 0; t + 1 < time; ++t)
// +   total = total + cross_entropy(logits[static_cast<std::size_t>(t)], wanted.column(t), {.ignore = kPad});
// + return total / static_cast<double>(time - 1);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

constexpr std::int64_t kStart = 1, kEnd = 2, kFirstLetter = 3;

struct Writer {
  Tensor table, out;
  GRUCell cell;

  Writer(Judge& judge, Size letters, Size embedding, Size width)
      : table(judge.normal({kFirstLetter + letters, embedding})),
        out(judge.normal({kFirstLetter + letters, width})),
        cell(embedding, width) {
    cell.initialise(judge.random().next(), DType::f64);
  }
};

/// Computes −log softmax at each position, one string and one symbol at a time, and returns the mean.
double by_loops(const std::vector<std::vector<std::int64_t>>& strings, const Tensor& code,
                const Writer& writer) {
  double sum = 0, places = 0;
  for (std::size_t row = 0; row < strings.size(); ++row) {
    const auto at = static_cast<Size>(row);
    Tensor s = slice(code, 0, at, at + 1);
    for (std::size_t t = 1; t < strings[row].size(); ++t) {
      s = writer.cell(slice(writer.table, 0, strings[row][t - 1], strings[row][t - 1] + 1), s).hidden;
      double all = 0, right = 0;
      for (Size symbol = 0; symbol < writer.out.size(0); ++symbol) {
        double logit = 0;
        for (Size i = 0; i < writer.out.size(1); ++i) logit += writer.out.at({symbol, i}) * s.at({0, i});
        all += std::exp(logit);
        if (symbol == strings[row][t]) right = std::exp(logit);
      }
      sum -= std::log(right / all);
      ++places;
    }
  }
  return sum / places;
}

}  // namespace

void judge(Judge& judge) {
  const auto draw = [&](Size letters, Size kinds) {
    std::vector<std::int64_t> string = {kStart};
    for (Size i = 0; i < letters; ++i) string.push_back(kFirstLetter + judge.random().below(kinds));
    string.push_back(kEnd);
    return string;
  };
  const auto padded = [](const std::vector<std::vector<std::int64_t>>& strings) {
    std::size_t longest = 0;
    for (const auto& string : strings) longest = std::max(longest, string.size());
    std::vector<std::int64_t> ids;
    for (const auto& string : strings) {
      ids.insert(ids.end(), string.begin(), string.end());
      ids.resize(ids.size() + longest - string.size(), kPad);
    }
    return Indices(ids, {static_cast<Size>(strings.size()), static_cast<Size>(longest)});
  };
  const auto compare = [&](const std::vector<Size>& lengths, Size kinds, Size width) {
    std::vector<std::vector<std::int64_t>> strings;
    for (const Size length : lengths) strings.push_back(draw(length, kinds));
    const Writer writer(judge, kinds, 3, width);
    const Tensor code = judge.normal({static_cast<Size>(lengths.size()), width});
    const Tensor loss = forced_loss(padded(strings), code, writer.table, writer.cell, writer.out);
    judge.same(loss.shape(), Dims{}, "the loss");
    judge.same(loss.item(), by_loops(strings, code, writer), "the loss");
  };
  judge.claim("computes the loss of one string", [&] {
    judge.example("one string of 6 letters, between <start> and <end>");
    compare({6}, 4, 4);
  });
  judge.claim("ignores the padding after a short string", [&] {
    judge.example("two strings of 3 and 1 letters");
    compare({3, 1}, 4, 4);
    judge.each_size({{"batch", 1, 4}, {"longest string", 1, 5}, {"letters", 1, 5}, {"H", 1, 4}},
                    [&](const Sizes& n) {
                      std::vector<Size> lengths;
                      for (Size row = 0; row < n[0]; ++row)
                        lengths.push_back(judge.random().between(1, n[1]));
                      compare(lengths, n[2], n[3]);
                    },
                    {.f32 = false});
  });
  judge.claim("passes gradcheck for code, table, cell and out", [&] {
    const Writer writer(judge, 4, 2, 3);
    const Indices targets = padded({draw(3, 4), draw(1, 4)});
    const std::vector<Tensor> weights = writer.cell.parameters();
    judge.gradients([&](const Tensor& code, const Tensor& table,
                        const Tensor& out) { return forced_loss(targets, code, table, writer.cell, out); },
                    {judge.normal({2, 3}), writer.table, writer.out}, weights);
  });
}
