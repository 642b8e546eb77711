// 22.3 knows_the_answer: Find the mistake in a decoder's inputs
// debug, 10 minutes
//
// The function below computes the decoder's inputs (`fed`) and targets (`wanted`) from target sentences. A row
// of `target` (B, T) is y₁ y₂ … <end>, then padding. The decoder's attend(y, y) is causal: position t attends
// to the positions up to t. Both results are (B, T).
//
// A model that is trained with this function has a loss of nearly 0 after some hundred steps. But when it
// translates by itself, it writes nonsense. Find the mistake.
#include "lessons/grader/answer.hpp"

constexpr std::int64_t kPadding = 0, kStartWord = 1, kEndWord = 2;  // the words have larger numbers

struct Feeding {
  Indices fed, wanted;
};

Feeding feeding(const Indices& target) {
  const Size rows = target.shape()[0], places = target.shape()[1];
  const std::vector<std::int64_t> words = target.to_vector();  // row by row
  const auto word = [&](Size row, Size t) { return words[static_cast<std::size_t>(row * places + t)]; };
  std::vector<std::int64_t> fed, wanted;
  for (Size row = 0; row < rows; ++row)
    for (Size t = 0; t < places; ++t) {
      //[ the input and the target at position t
      //: fed.push_back(word(row, t));
      //: wanted.push_back(word(row, t));
      fed.push_back(t == 0 ? kStartWord : word(row, t - 1));  // the previous word
      wanted.push_back(word(row, t));                         // the word itself, also <end>
      //]
    }
  return {Indices(fed, {rows, places}), Indices(wanted, {rows, places})};
}

// hint: For "le chat <end>", write down the input and the target at each of the three positions.
// hint: Which words have been written before the first word?
// hint: fed.push_back(t == 0 ? ____ : word(row, ____));
//
// start: At position t, the input equals the target. A causal mask lets position t attend to itself, so the
//   model learns to copy its input. When it translates by itself, it has nothing to copy.
//
// wrong: <start> is never an input. The inputs and targets differ by one position, but the first word is never
//   a target, and a translation begins with a <start> that the model has never seen.
// - fed.push_back(t == 0 ? kStartWord : word(row, t - 1));
// - wanted.push_back(word(row, t));
// + fed.push_back(word(row, t));
// + wanted.push_back(t + 1 < places ? word(row, t + 1) : kPadding);
// wrong: You shifted both inputs and targets, so the input still equals the target.
// - wanted.push_back(word(row, t));
// + wanted.push_back(t == 0 ? kStartWord : word(row, t - 1));
// wrong: You shifted the inputs in the wrong direction. At position t, the input is the word after the target.
//   When the model translates by itself, this word is not known.
// - fed.push_back(t == 0 ? kStartWord : word(row, t - 1));
// + fed.push_back(t + 1 < places ? word(row, t + 1) : kPadding);
// wrong: The second row begins with the last word of the first row. Each sentence must begin with <start>.
// - fed.push_back(t == 0 ? kStartWord : word(row, t - 1));
// + fed.push_back(row == 0 && t == 0 ? kStartWord : words[static_cast<std::size_t>(row * places + t - 1)]);
// wrong: You shifted the inputs by two positions, so the word directly before the target is missing from them.
// - fed.push_back(t == 0 ? kStartWord : word(row, t - 1));
// + fed.push_back(t < 2 ? kStartWord : word(row, t - 2));
// wrong: <end> is no longer a target, so the model does not learn when to stop.
// - wanted.push_back(word(row, t));
// + wanted.push_back(word(row, t) == kEndWord ? kPadding : word(row, t));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

std::string text(const Indices& ids, Size row) {
  static const std::vector<std::string> names = {"<pad>", "<start>", "<end>", "le", "chat", "dort", "noir"};
  std::string all;
  const std::vector<std::int64_t> values = ids.to_vector();
  for (Size t = 0; t < ids.shape()[1]; ++t)
    all += (t == 0 ? "" : " ") +
           names.at(static_cast<std::size_t>(values[static_cast<std::size_t>(row * ids.shape()[1] + t)]));
  return all;
}

}  // namespace

void judge(Judge& judge) {
  const auto compare = [&](const Indices& target, Size row, const std::string& fed,
                           const std::string& wanted) {
    const Feeding came = feeding(target);
    judge.same(came.fed.shape(), target.shape(), "the shape of the inputs");
    judge.same(came.wanted.shape(), target.shape(), "the shape of the targets");
    judge.same("inputs: " + text(came.fed, row) + "; targets: " + text(came.wanted, row),
               "inputs: " + fed + "; targets: " + wanted, "the words");
  };
  judge.claim("feeds \"le chat <end>\" as <start> le chat", [&] {
    judge.example("one sentence, le chat <end>");
    compare(Indices(std::vector<std::int64_t>{3, 4, 2}, {1, 3}), 0, "<start> le chat", "le chat <end>");
  });
  judge.claim("starts each row of a batch with <start>, also with padding", [&] {
    judge.example("the second of two rows, dort <end> <pad> after le chat <end>");
    compare(Indices(std::vector<std::int64_t>{3, 4, 2, 5, 2, 0}, {2, 3}), 1, "<start> dort <end>",
            "dort <end> <pad>");
  });
  judge.claim("computes the right inputs and targets for other sentences", [&] {
    judge.each_size({{"rows", 1, 4}, {"words", 1, 6}}, [&](const Sizes& n) {
      std::vector<std::int64_t> target;
      for (Size row = 0; row < n[0]; ++row) {
        const Size length = judge.random().between(0, n[1]);
        for (Size t = 0; t <= n[1]; ++t)
          target.push_back(t < length ? judge.random().between(3, 6) : t == length ? kEndWord : kPadding);
      }
      const Size row = judge.random().below(n[0]);
      const Indices ids(target, {n[0], n[1] + 1});
      const std::string out = text(ids, row);
      compare(ids, row,
              out.find(' ') == std::string::npos ? "<start>" : "<start> " + out.substr(0, out.rfind(' ')),
              out);
    });
  });
}
