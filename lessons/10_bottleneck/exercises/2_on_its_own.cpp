// 10.2 on_its_own: Free decoding of a batch
// debug, 15 minutes
//
// In free decoding, the decoder starts with <start>. Then the input of each step is the most likely symbol of the
// previous step. It writes at most `longest` symbols.
//
//     s_0 = code,    s_t = cell(e(y_{t−1}), s_{t−1}),    y_t = argmax O s_t
//
// The function should return, for each string, the symbols before its <end>. For a single string, it does. In a batch,
// a string may be cut off or may continue after its end, depending on the string in the *first* row. Find the mistake.
//
// code has the shape (B, H), table (V, E), and O is `out`, (V, H).
#include "lessons/grader/answer.hpp"

using Ids = std::vector<std::int64_t>;
constexpr std::int64_t kStart = 1, kEnd = 2;

std::vector<Ids> write_alone(const Tensor& code, const Tensor& table, const GRUCell& cell, const Tensor& out,
                             Size longest) {
  const auto batch = static_cast<std::size_t>(code.size(0));
  Tensor s = code;
  Indices words(Ids(batch, kStart), {code.size(0)});
  std::vector<Ids> written(batch);
  //[ the loop
  //: for (Size t = 0; t < longest; ++t) {
  //:   s = cell(embedding(table, words), s).hidden;
  //:   words = argmax(matmul(s, transpose(out)));
  //:   const Ids now = words.to_vector();
  //:   if (now[0] == kEnd) break;
  //:   for (std::size_t row = 0; row < batch; ++row) written[row].push_back(now[row]);
  //: }
  std::vector<bool> ended(batch, false);  // one entry per string
  for (Size t = 0; t < longest; ++t) {
    s = cell(embedding(table, words), s).hidden;
    words = argmax(matmul(s, transpose(out)));
    const Ids now = words.to_vector();
    for (std::size_t row = 0; row < batch; ++row) {
      if (now[row] == kEnd) ended[row] = true;  // and stays so, whatever comes after
      if (!ended[row]) written[row].push_back(now[row]);
    }
  }
  //]
  return written;
}

// hint: Each step computes all rows. The <end> of which row stops the loop?
// hint: Keep one bool per string. When does it become true, and can it become false again?
// hint: For each row: if (now[row] == kEnd) ended[row] = true; if (____) written[row].push_back(now[row]);
//
// start: The first string is right. The second string continues after its own <end>, and stops where the first one
//   does. Which line of the loop decides that a string is over, and which strings does this line check?
//
// wrong: You append <end>. It marks the end of the string, but is not part of it.
// - if (now[row] == kEnd) ended[row] = true;  // and stays so, whatever comes after
// - if (!ended[row]) written[row].push_back(now[row]);
// + if (!ended[row]) written[row].push_back(now[row]);
// + if (now[row] == kEnd) ended[row] = true;
// wrong: A string that has ended continues at the next step. The decoder computes a symbol at every step, but ignore
//   all symbols after the first <end>.
// - if (now[row] == kEnd) ended[row] = true;  // and stays so, whatever comes after
// + ended[row] = now[row] == kEnd;
// wrong: All strings stop when one of them has ended. That cuts off every string that is longer than the shortest one.
// - const Ids now = words.to_vector();
// + const Ids now = words.to_vector();
// + if (std::find(now.begin(), now.end(), kEnd) != now.end()) break;
// wrong: The input of every step is <start>. It must be the symbol that the decoder wrote at the previous step.
// - s = cell(embedding(table, words), s).hidden;
// + s = cell(embedding(table, Indices(Ids(batch, kStart), {code.size(0)})), s).hidden;
// wrong: You don't pass the state on. Each step starts from the code, so the decoder knows only the previous symbol.
// - s = cell(embedding(table, words), s).hidden;
// + s = cell(embedding(table, words), code).hidden;
// wrong: You use the most likely symbol of the last row for all rows.
// - const Ids now = words.to_vector();
// + const Ids now(batch, words.to_vector().back());
// wrong: You write one symbol too few. A string may have `longest` symbols, not counting <end>.
// - for (Size t = 0; t < longest; ++t) {
// + for (Size t = 0; t + 1 < longest; ++t) {

//= judge
#include <set>

#include "lessons/grader/judge/judge.hpp"

namespace {

/// Decodes one string, one symbol at a time, up to <end>.
Ids by_loops(const Tensor& code, Size row, const Tensor& table, const GRUCell& cell, const Tensor& out,
             Size longest) {
  Tensor s = slice(code, 0, row, row + 1);
  Ids said;
  std::int64_t word = kStart;
  for (Size t = 0; t < longest; ++t) {
    s = cell(slice(table, 0, word, word + 1), s).hidden;
    double best = -std::numeric_limits<double>::infinity();
    for (Size symbol = 0; symbol < out.size(0); ++symbol) {
      double logit = 0;
      for (Size i = 0; i < out.size(1); ++i) logit += out.at({symbol, i}) * s.at({0, i});
      if (logit > best) best = logit, word = symbol;
    }
    if (word == kEnd) break;
    said.push_back(word);
  }
  return said;
}

std::string text(const Ids& ids) {
  std::string out;
  for (const std::int64_t id : ids) out += (out.empty() ? "" : " ") + std::to_string(id);
  return out;
}

}  // namespace

void judge(Judge& judge) {
  constexpr Size kSymbols = 7, kWidth = 5, kLongest = 8;
  // Draws weights until the strings that they produce satisfy `fits`.
  const auto compare = [&](Size batch, const std::function<bool(const std::vector<Ids>&)>& fits) {
    for (int tries = 0;; ++tries) {
      judge.that(tries < 3000, "no such strings were found; this is a mistake of the exercise");
      const Tensor code = judge.normal({batch, kWidth}), table = judge.normal({kSymbols, 3}) * 3;
      const Tensor out = judge.normal({kSymbols, kWidth});
      GRUCell cell(3, kWidth);
      cell.initialise(judge.random().next(), DType::f64);
      std::vector<Ids> strings;
      for (Size row = 0; row < batch; ++row)
        strings.push_back(by_loops(code, row, table, cell, out, kLongest));
      if (!fits(strings)) continue;
      const std::vector<Ids> came = write_alone(code, table, cell, out, kLongest);
      judge.same(static_cast<double>(came.size()), static_cast<double>(batch), "the number of strings");
      std::string wanted, got;
      for (Size row = 0; row < batch; ++row) {
        const auto at = static_cast<std::size_t>(row);
        wanted += (row == 0 ? "" : " | ") + text(strings[at]);
        got += (row == 0 ? "" : " | ") + text(came[at]);
      }
      judge.same(got, wanted, "the symbols");
      return;
    }
  };
  const auto different = [](const Ids& ids) {
    return std::set<std::int64_t>(ids.begin(), ids.end()).size() >= 3;
  };
  judge.claim("writes one string", [&] {
    judge.example("one string, in which <end> is 2");
    compare(1, [&](const auto& strings) {
      return strings[0].size() >= 3 && strings[0].size() + 3 < kLongest && different(strings[0]);
    });
    judge.example("one string without <end>, with the largest allowed number of symbols");
    compare(1, [&](const auto& strings) { return strings[0].size() == kLongest; });
  });
  judge.claim("writes each string of a batch as if it were the only one", [&] {
    judge.example("two strings, the second shorter; <end> is 2");
    compare(2, [&](const auto& strings) {
      return !strings[1].empty() && strings[0].size() > strings[1].size() + 1 &&
             strings[0].size() + 1 < kLongest;
    });
    judge.example("two strings, the first shorter; <end> is 2");
    compare(2, [&](const auto& strings) {
      return !strings[0].empty() && strings[1].size() > strings[0].size() && strings[1].size() < kLongest;
    });
    for (const Size batch : {1, 2, 3, 5}) {
      judge.example("a batch of " + std::to_string(batch));
      compare(batch, [](const auto&) { return true; });
    }
  });
}
