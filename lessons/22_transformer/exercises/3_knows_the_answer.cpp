// 22.3 knows_the_answer: a decoder that learns in no time, and cannot write
// debug, 10 minutes
//
// This makes of target sentences what goes into the decoder, and what must come out of it at the same places.
// A row of `target` (B, T) is y₁ y₂ … <end>, then padding. The decoder's attend(y, y) is causal: place t sees
// the places up to t. Trained with what this gives it, the model has a loss of nearly 0 after some hundred
// steps; yet on its own it writes nonsense. Find what is wrong. Both results are (B, T).
#include "lessons/grader/answer.hpp"

constexpr std::int64_t kPadding = 0, kStartWord = 1, kEndWord = 2;  // words come after them

struct Feeding {
  Indices fed, wanted;
};

Feeding feeding(const Indices& target) {
  const Size rows = target.shape()[0], places = target.shape()[1];
  const std::vector<std::int64_t> words = target.to_vector();  // row after row
  const auto word = [&](Size row, Size t) { return words[static_cast<std::size_t>(row * places + t)]; };
  std::vector<std::int64_t> fed, wanted;
  for (Size row = 0; row < rows; ++row)
    for (Size t = 0; t < places; ++t) {
      //[ what goes in at place t, and what must come out there
      //: fed.push_back(word(row, t));
      //: wanted.push_back(word(row, t));
      fed.push_back(t == 0 ? kStartWord : word(row, t - 1));  // the word before
      wanted.push_back(word(row, t));                         // the word itself, <end> too
      //]
    }
  return {Indices(fed, {rows, places}), Indices(wanted, {rows, places})};
}

// hint: Write down for "le chat <end>" what goes in at each of the three places, and what must come out.
// hint: When the first word has to be written, what has been written before it?
// hint: fed.push_back(t == 0 ? ____ : word(row, ____));
//
// start: At place t goes in what must come out at place t, and a causal mask lets place t see itself: the
//   model learns to copy its input. When it writes on its own there is nothing to copy.
//
// wrong: <start> never goes in. The words are shifted against each other, but the first word is not asked
//   for, and writing begins with a <start> that the model has never seen.
// - fed.push_back(t == 0 ? kStartWord : word(row, t - 1));
// - wanted.push_back(word(row, t));
// + fed.push_back(word(row, t));
// + wanted.push_back(t + 1 < places ? word(row, t + 1) : kPadding);
// wrong: Both are shifted, so what goes in still is what must come out.
// - wanted.push_back(word(row, t));
// + wanted.push_back(t == 0 ? kStartWord : word(row, t - 1));
// wrong: It is shifted the other way: at place t goes in the word that comes after the wanted one. On its
//   own the model does not know it.
// - fed.push_back(t == 0 ? kStartWord : word(row, t - 1));
// + fed.push_back(t + 1 < places ? word(row, t + 1) : kPadding);
// wrong: The second row begins with the last word of the first one. Each sentence begins with <start>.
// - fed.push_back(t == 0 ? kStartWord : word(row, t - 1));
// + fed.push_back(row == 0 && t == 0 ? kStartWord : words[static_cast<std::size_t>(row * places + t - 1)]);
// wrong: Shifted is by two: the word just before the wanted one does not go in, and half of what was
//   written is unknown.
// - fed.push_back(t == 0 ? kStartWord : word(row, t - 1));
// + fed.push_back(t < 2 ? kStartWord : word(row, t - 2));
// wrong: <end> is not asked for any more, so nobody learns when to stop.
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
    judge.same(came.fed.shape(), target.shape(), "what goes in");
    judge.same(came.wanted.shape(), target.shape(), "what is wanted");
    judge.same("in: " + text(came.fed, row) + "; out: " + text(came.wanted, row),
               "in: " + fed + "; out: " + wanted, "the words");
  };
  judge.claim("feeds \"le chat <end>\" as <start> le chat", [&] {
    judge.example("one sentence, le chat <end>");
    compare(Indices(std::vector<std::int64_t>{3, 4, 2}, {1, 3}), 0, "<start> le chat", "le chat <end>");
  });
  judge.claim("does so for each row of a batch, with padding", [&] {
    judge.example("the second of two rows, dort <end> <pad> after le chat <end>");
    compare(Indices(std::vector<std::int64_t>{3, 4, 2, 5, 2, 0}, {2, 3}), 1, "<start> dort <end>",
            "dort <end> <pad>");
  });
  judge.claim("does so for any sentences", [&] {
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
