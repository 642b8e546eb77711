// libFuzzer: any bytes as a vocabulary, ours or BERT's, with its first lines or without: read, or refused
// with an Error of one line. Ours comes back as it was written.
#include "nn/text/vocabulary.hpp"

#include "nn/text/word_piece.hpp"
#include "tests/fuzz/foreign.hpp"

namespace {

using namespace tapestry;

void read_words(std::string_view text) {
  const Vocabulary vocabulary = Vocabulary::from_text(text, "fuzz");
  fuzz::must(Vocabulary::from_text(vocabulary.text(), "fuzz") == vocabulary);
  for (Size id = 4; id < vocabulary.size(); ++id) fuzz::must(vocabulary.id(vocabulary.word(id)) == id);
}

void read_pieces(std::string_view text) {
  const WordPiece pieces = WordPiece::from_text(text, "fuzz");
  for (Size id = 0; id < pieces.size(); ++id) fuzz::must(pieces.id(pieces.piece(id)) == id);
  pieces.encode(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string specials = Vocabulary().text();
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::or_refused([&] {
    switch (size % 4) {  // one way an input: each that is refused costs an exception
      case 0:
        return read_words(text);
      case 1:
        return read_words(specials + std::string(text));
      case 2:
        return read_pieces(text);
      default:
        return read_pieces("[PAD]\n[UNK]\n[CLS]\n[SEP]\n" + std::string(text));
    }
  });
  return 0;
}
