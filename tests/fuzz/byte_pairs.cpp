// libFuzzer: any bytes as a file of merges, with its first lines or without, are read or refused with an
// Error of one line; byte pairs, read or learned from the text, give it back.
#include "nn/text/byte_pairs.hpp"

#include "tests/fuzz/foreign.hpp"

namespace {

using namespace tapestry;

BytePairs read_behind(const char* first_lines, std::string_view text) {
  return BytePairs::from_text(first_lines + std::string(text), "fuzz");
}

void check_words(const BytePairs& pairs, const Words& words) {
  fuzz::must(BytePairs::from_text(pairs.text(), "fuzz") == pairs);
  fuzz::must(pairs.join(pairs.split(words)) == words);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const Words words = split_words(text);
  fuzz::or_refused([&] {
    switch (size % 4) {  // one way an input: each that is refused costs an exception
      case 0:
        return check_words(BytePairs::learn({words}, {.merges = 12, .marker = size % 8 == 0 ? "_" : "aa"}),
                           words);
      case 1:
        return check_words(BytePairs::from_text(text, "fuzz"), words);
      case 2:
        return check_words(read_behind("tapestry byte pairs 1\nmarker last _\n", text), words);
      default:
        return check_words(read_behind("tapestry byte pairs 1\nmarker first ab\n", text), words);
    }
  });
  return 0;
}
