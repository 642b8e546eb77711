// libFuzzer: any bytes as a text, and as a vocabulary, are encoded or refused with an Error of one line; byte
// pairs learned from a text give it back.
#include "nn/text/word_piece.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "nn/text/byte_pairs.hpp"
#include "nn/text/characters.hpp"

namespace {

using namespace tapestry;

constexpr std::string_view kVocabulary =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nb\n##b\nc\n##cc\ne\n##e\no\n##o\n.\n,\n[\n#\nσ\n##σ\n北\n##"
    "가\nㅏ\n";

template <class F>
void or_refused(F f) {
  try {
    f();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.empty() || message.find('\n') != std::string::npos) std::abort();
  }
}

void check_ids(const WordPiece& pieces, std::string_view text) {
  const Ids ids = pieces.encode(text);
  if (ids.size() < 2 || static_cast<Size>(ids.size()) > pieces.options().max_length) std::abort();
  if (ids.front() != pieces.begin() || ids.back() != pieces.end()) std::abort();
  for (const std::int64_t id : ids) pieces.piece(id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const WordPiece usual = WordPiece::from_text(kVocabulary, "fuzz", {.max_length = 20});
  static const WordPiece cased = WordPiece::from_text(
      kVocabulary, "fuzz", {.text = {false, false, false}, .longest_word = 5, .specials_in_text = false});
  or_refused([&] { check_ids(usual, text); });
  or_refused([&] { check_ids(cased, text); });
  or_refused([&] { check_ids(WordPiece::from_text(text, "fuzz"), text); });
  or_refused([&] {
    const Characters characters = Characters::of(text);
    if (characters.decode(characters.encode(text)) != text) std::abort();
  });
  or_refused([&] {
    const Words words = split_words(text);
    const BytePairs pairs = BytePairs::learn({words}, {.merges = 30, .marker = size % 2 == 0 ? "_" : "aa"});
    if (pairs.join(pairs.split(words)) != words || !(BytePairs::from_text(pairs.text(), "fuzz") == pairs))
      std::abort();
  });
  or_refused([&] {
    const BytePairs pairs = BytePairs::from_text(text, "fuzz");
    if (pairs.text().size() > text.size() + 1) std::abort();
    const Words words = split_words(text);
    if (pairs.join(pairs.split(words)) != words) std::abort();
  });
  return 0;
}
