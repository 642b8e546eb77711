// 21.3 reads_the_past: an induction head that says what was, not what comes
// debug, 10 minutes
//
// Two heads are wired by hand as in lesson 21. The lower one notes at each place which symbol stands one place
// before; the upper one looks, from the present symbol, for places that noted it, and reads the symbol that
// stands there. In k d a f e k d a f e the answer at the second d should be a. There is one mistake: find it.
//
// symbols (T, V) has a 1 for the symbol of each place; the result (T, V) is what the upper head reads.
#include "lessons/grader/answer.hpp"

Tensor next_by_induction(const Tensor& symbols) {
  const Size time = symbols.size(0);
  //[ one mistake
  //: const Mask one_back = Mask::from(time, time, [](Size i, Size j) { return j == i - 1; });
  //: const Tensor lower = masked_softmax(zeros({time, time}, symbols.dtype()), one_back);
  //: const Tensor notes = matmul(lower, symbols);
  //: const Tensor scores = 50 * matmul(notes, transpose(symbols));
  //: const Tensor upper = masked_softmax(scores, Mask::causal(time, time));
  //: return matmul(upper, symbols);
  const Mask one_back = Mask::from(time, time, [](Size i, Size j) { return j == i - 1; });
  const Tensor lower = masked_softmax(zeros({time, time}, symbols.dtype()), one_back);
  const Tensor notes = matmul(lower, symbols);
  const Tensor scores = 50 * matmul(symbols, transpose(notes));  // queries: symbols; keys: notes
  const Tensor upper = masked_softmax(scores, Mask::causal(time, time));
  return matmul(upper, symbols);
  //]
}

// hint: What is a row of `scores`, and what is a column? Say in words what the head looks for at the second d.
// hint: The upper head's query is the present symbol. Its keys are ____.
// hint: scores = 50 * matmul(____, transpose(____)) with a row for each query and a column for each key.
//
// start: At each place the head reads the symbol of one place before, and not the one that comes next: what
//   asks, and what is looked for?
// wrong: The head looks for copies of the present symbol and reads that symbol again. The copy is found;
//   what came next stands one place to the right of it.
// - const Tensor scores = 50 * matmul(symbols, transpose(notes));
// + const Tensor scores = 50 * matmul(symbols, transpose(symbols));
// wrong: The head looks for places with the same note and so finds copies of the present symbol where the
//   symbols before agree too. Only the keys are notes.
// - const Tensor scores = 50 * matmul(symbols, transpose(notes));
// + const Tensor scores = 50 * matmul(notes, transpose(notes));
// wrong: The right place is found, but its note is read, which is the present symbol. The value is the symbol
//   that stands there.
// - return matmul(upper, symbols);
// + return matmul(upper, notes);
// wrong: The lower head notes the symbol that comes next. It cannot know that: it may only look back.
// - const Mask one_back = Mask::from(time, time, [](Size i, Size j) { return j == i - 1; });
// + const Mask one_back = Mask::from(time, time, [](Size i, Size j) { return j == i + 1; });
// wrong: The causal mask is gone: from the first round the head sees the second.
// - const Tensor upper = masked_softmax(scores, Mask::causal(time, time));
// + const Tensor upper = softmax(scores, -1);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

Tensor one_hot_of(const std::vector<Size>& ids, Size symbols) {
  std::vector<double> numbers;
  for (const Size id : ids)
    for (Size symbol = 0; symbol < symbols; ++symbol) numbers.push_back(symbol == id ? 1 : 0);
  return tensor(numbers, {static_cast<Size>(ids.size()), symbols}, DType::f64);
}

/// Each key weighs e^50 where the symbol before it is the query's, and 1 elsewhere.
Tensor by_loops(const std::vector<Size>& ids, Size symbols) {
  std::vector<double> numbers;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    std::vector<double> read(static_cast<std::size_t>(symbols), 0.0);
    double whole = 0;
    for (std::size_t key = 0; key <= t; ++key) {
      const double weight = key > 0 && ids[key - 1] == ids[t] ? std::exp(50.0) : 1;
      read[static_cast<std::size_t>(ids[key])] += weight;
      whole += weight;
    }
    for (const double each : read) numbers.push_back(each / whole);
  }
  return tensor(numbers, {static_cast<Size>(ids.size()), symbols}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("reads at the last d of d a f d e d what came after the two before", [&] {
    const std::vector<Size> ids = {1, 0, 3, 1, 2, 1};
    judge.example("d a f d e d, with the columns a, d, e, f");
    const Tensor read = next_by_induction(one_hot_of(ids, 4));
    judge.same(slice(read, 0, 5, 6), tensor({{0.5, 0, 0.5, 0}}, DType::f64), "what is read at the last d");
  });
  judge.claim("does so for any sequence, and sees nothing ahead", [&] {
    judge.each_size({{"places", 1, 12}, {"symbols", 1, 6}}, [&](const Sizes& n) {
      std::vector<Size> ids;
      for (Size t = 0; t < n[0]; ++t) ids.push_back(judge.random().below(n[1]));
      judge.same(next_by_induction(one_hot_of(ids, n[1])), by_loops(ids, n[1]), "what is read");
    });
  });
}
