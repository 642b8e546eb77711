// 24.1 longest_piece: Cutting a word into the longest pieces
// implement, 15 minutes
//
// WordPiece cuts a word from left to right. Each time, it takes the longest piece of the list that fits. In
// the list, a piece that does not begin the word is written with ## in front. If no piece fits at some point,
// the result for the whole word is the single piece "[UNK]".
//
// Write this function for a word of plain letters. If the list contains token, to and ##s, the word "tokens"
// becomes token, ##s.
#include <set>

#include "lessons/grader/answer.hpp"

using Pieces = std::vector<std::string>;

Pieces cut_word(const std::string& word, const std::set<std::string>& known) {
  //[ six to ten lines
  //: static_cast<void>(word), static_cast<void>(known);
  //: return not_written_yet();
  Pieces pieces;
  std::size_t begin = 0;
  while (begin < word.size()) {
    const std::string mark = begin == 0 ? "" : "##";
    std::size_t length = word.size() - begin;  // try the longest first
    while (length > 0 && known.count(mark + word.substr(begin, length)) == 0) --length;
    if (length == 0) return {"[UNK]"};  // the whole word, not only the rest
    pieces.push_back(mark + word.substr(begin, length));
    begin += length;
  }
  return pieces;
  //]
}

// hint: At position `begin` of the word, which candidates are there, and which one is tried first?
// hint: The candidates are mark + word.substr(begin, length), with length from ____ down to 1. The mark is ""
//   or "##".
// hint: Write two nested loops: while (begin < word.size()), and inside it while (length > 0 &&
//   known.count(…) == 0) --length. What must happen if length becomes 0?
//
// wrong: You take the shortest piece that fits. WordPiece takes the longest. Other pieces have other ids, and
//   the model was not trained on the word in that form.
// - std::size_t length = word.size() - begin;
// - while (length > 0 && known.count(mark + word.substr(begin, length)) == 0) --length;
// - if (length == 0) return {"[UNK]"};
// + std::size_t length = 1;
// + while (begin + length <= word.size() && known.count(mark + word.substr(begin, length)) == 0) ++length;
// + if (begin + length > word.size()) return {"[UNK]"};
// wrong: You look up pieces inside a word without ##. "##s" and "s" are two different pieces: the end of a
//   word, and a word of one letter.
// - const std::string mark = begin == 0 ? "" : "##";
// + const std::string mark = "";
// wrong: You keep the pieces that fit and put [UNK] for the rest of the word. BERT returns a single [UNK] for
//   the whole word.
// - if (length == 0) return {"[UNK]"};
// + if (length == 0) {
// +   pieces.push_back("[UNK]");
// +   return pieces;
// + }
// wrong: You skip a letter that no piece fits. Then two different words can have the same ids.
// - if (length == 0) return {"[UNK]"};
// - pieces.push_back(mark + word.substr(begin, length));
// - begin += length;
// + if (length > 0) pieces.push_back(mark + word.substr(begin, length));
// + begin += std::max<std::size_t>(length, 1);
// wrong: The first piece has ## too. Only pieces inside the word have it.
// - const std::string mark = begin == 0 ? "" : "##";
// + const std::string mark = "##";

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/text/word_piece.hpp"

namespace {

std::string shown(const Pieces& pieces) {
  std::string all;
  for (const std::string& piece : pieces) all += (all.empty() ? "" : " ") + piece;
  return all;
}

/// Cuts a word by a list of random short pieces, and compares with the library.
void try_random(Judge& judge, int round) {
  const auto letters = [&](Size longest) {
    std::string text;
    for (Size i = judge.random().between(1, longest); i > 0; --i)
      text += static_cast<char>('a' + judge.random().below(3));
    return text;
  };
  std::set<std::string> known{"[UNK]"};
  for (int i = 0; i < 10 + round % 8; ++i) known.insert((i % 2 == 0 ? "" : "##") + letters(3));
  std::string lines = "[PAD]\n[CLS]\n[SEP]\n";
  for (const std::string& piece : known) lines += piece + "\n";
  const WordPiece library = WordPiece::from_text(lines, "the list");
  const std::string word = letters(7);
  Pieces expected;
  for (const std::int64_t id : library.pieces_of(word)) expected.push_back(library.piece(id));
  judge.example("the word " + word + ", the list " + shown(Pieces(known.begin(), known.end())));
  judge.same(shown(cut_word(word, known)), shown(expected), "the pieces");
}

}  // namespace

void judge(Judge& judge) {
  const std::set<std::string> known{"to",        "token",  "t",  "##s",  "s",     "##iza",
                                    "##ization", "##tion", "un", "##to", "##ken", "##x",
                                    "##kens",    "a",      "ab", "##bc", "##t",   "##o"};
  const auto gives = [&](const std::string& word, const std::string& pieces) {
    judge.example("the word " + word);
    judge.same(shown(cut_word(word, known)), pieces, "the pieces");
  };
  judge.claim("returns a word of the list as one piece", [&] { gives("token", "token"); });
  judge.claim("takes the longest piece, with ## inside a word", [&] {
    gives("tokens", "token ##s");
    gives("tokenization", "token ##ization");
    gives("untokens", "un ##to ##kens");
  });
  judge.claim("returns [UNK] for a word with a part that no piece fits", [&] {
    gives("tokenq", "[UNK]");
    gives("abc", "[UNK]");
  });
  judge.claim("cuts random words with random lists like Tapestry's WordPiece", [&] {
    for (int round = 0; round < 200; ++round) try_random(judge, round);
  });
}
