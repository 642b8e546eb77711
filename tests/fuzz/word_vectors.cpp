// libFuzzer: any bytes as a file of word vectors, GloVe's or word2vec's, are read, or refused with one line.
#include "lessons/kit/text/word_vectors.hpp"

#include <cmath>

#include "lessons/kit/program/usage_error.hpp"
#include "tests/fuzz/foreign.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tapestry;
  static const fuzz::MemoryFile file;
  static const Vocabulary wanted = Vocabulary::of({"a", "the", "é"});
  file.write(fuzz::text_of(data, size));
  fuzz::or_refused<kit::UsageError>([&] {
    const kit::WordVectors vectors = kit::read_word_vectors(file.path(), wanted);
    fuzz::must(vectors.width > 0 && vectors.in_file > 0);
    for (const auto& [id, vector] : vectors.of) {
      fuzz::must(id >= 0 && id < wanted.size() && static_cast<Size>(vector.size()) == vectors.width);
      for (const float value : vector) fuzz::must(std::isfinite(value));
    }
  });
  return 0;
}
