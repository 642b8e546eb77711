// 21.3 reads_the_past: Find the mistake in an induction head
// debug, 10 minutes
//
// The function below wires two heads by hand, as in lesson 21. At each place, the lower head stores a note of
// the previous symbol. The upper head uses the current symbol as its query, attends to the places whose note is
// this symbol, and returns the symbols at these places. In k d a f e k d a f e, the result at the second d
// should be a, but it is not. Find the one mistake.
//
// symbols (T, V) is one-hot: each row has a 1 for the symbol at its place. Return the results of the upper
// head, (T, V).
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

// hint: What do the rows and columns of `scores` belong to? Say in words what the head looks for at the second
//   d.
// hint: The upper head's query is the current symbol. Its keys are ____.
// hint: scores = 50 * matmul(____, transpose(____)), with one row per query and one column per key.
//
// start: At each place, the head returns a symbol from one place before, and not the next symbol. Which tensor
//   contains the queries, and which one the keys?
// wrong: Your head finds copies of the current symbol and returns this symbol again. The next symbol is one
//   place to the right of the copy.
// - const Tensor scores = 50 * matmul(symbols, transpose(notes));
// + const Tensor scores = 50 * matmul(symbols, transpose(symbols));
// wrong: Your head compares notes with notes, so it finds places with the same previous symbol. Only the keys
//   are notes. The query is the current symbol.
// - const Tensor scores = 50 * matmul(symbols, transpose(notes));
// + const Tensor scores = 50 * matmul(notes, transpose(notes));
// wrong: Your head finds the right place, but it returns the note, which is the current symbol. The value must
//   be the symbol at that place.
// - return matmul(upper, symbols);
// + return matmul(upper, notes);
// wrong: Your lower head stores the next symbol. It must not use later places.
// - const Mask one_back = Mask::from(time, time, [](Size i, Size j) { return j == i - 1; });
// + const Mask one_back = Mask::from(time, time, [](Size i, Size j) { return j == i + 1; });
// wrong: The causal mask is missing, so the head attends to later places: in the first round it finds notes in
//   the second.
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

/// Gives each key the weight e^50 if the symbol before it equals the query's symbol, and 1 otherwise.
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
  judge.claim("returns at the last d of d a f d e d the symbols after the two earlier ones", [&] {
    const std::vector<Size> ids = {1, 0, 3, 1, 2, 1};
    judge.example("d a f d e d, with the columns a, d, e, f");
    const Tensor read = next_by_induction(one_hot_of(ids, 4));
    judge.same(slice(read, 0, 5, 6), tensor({{0.5, 0, 0.5, 0}}, DType::f64), "the result at the last d");
  });
  judge.claim("returns the right symbols for other sequences, and does not depend on later places", [&] {
    judge.each_size({{"places", 1, 12}, {"symbols", 1, 6}}, [&](const Sizes& n) {
      std::vector<Size> ids;
      for (Size t = 0; t < n[0]; ++t) ids.push_back(judge.random().below(n[1]));
      judge.same(next_by_induction(one_hot_of(ids, n[1])), by_loops(ids, n[1]), "the result");
    });
  });
}
