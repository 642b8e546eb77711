// libFuzzer: any bytes as a text are cut into pieces of words, or refused with an Error of one line.
#include "nn/text/word_piece.hpp"

#include "tests/fuzz/foreign.hpp"

namespace {

using namespace tapestry;
using fuzz::must;

constexpr std::string_view kVocabulary =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nb\n##b\nc\n##cc\ne\n##e\no\n##o\n.\n,\n[\n#\nσ\n##σ\n北\n##"
    "가\nㅏ\n";

void check_ids(const WordPiece& pieces, std::string_view text) {
  const Ids ids = pieces.encode(text);
  must(ids.size() >= 2 && static_cast<Size>(ids.size()) <= pieces.options().max_length);
  must(ids.front() == pieces.begin() && ids.back() == pieces.end());
  for (const std::int64_t id : ids) pieces.piece(id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const WordPiece usual = WordPiece::from_text(kVocabulary, "fuzz", {.max_length = 20});
  static const WordPiece cased = WordPiece::from_text(
      kVocabulary, "fuzz", {.text = {false, false, false}, .longest_word = 5, .specials_in_text = false});
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::or_refused([&] { check_ids(usual, text); });
  fuzz::or_refused([&] { check_ids(cased, text); });
  return 0;
}
