#include "lessons/kit/tasks/reversal.hpp"

#include <string>
#include <utility>
#include <vector>

#include "core/ops/reduce.hpp"

namespace tapestry::kit {

Vocabulary alphabet() {
  Words letters;
  for (Size i = 0; i < kLetters; ++i) letters.push_back(std::string(1, static_cast<char>('a' + i)));
  return Vocabulary::of(letters);
}

Strings draw_strings(Random random, Size count, Size shortest, Size longest) {
  std::vector<Ids> sources, targets;
  for (Size i = 0; i < count; ++i) {
    Ids letters;
    for (Size left = random.between(shortest, longest); left > 0; --left)
      letters.push_back(kEnd + 1 + random.below(kLetters));
    Ids source = letters, target = {kStart};
    source.push_back(kEnd);
    target.insert(target.end(), letters.rbegin(), letters.rend());
    target.push_back(kEnd);
    sources.push_back(std::move(source));
    targets.push_back(std::move(target));
  }
  return {pad(sources), pad(targets)};
}

Strings test_strings(std::uint64_t seed, Size count, Size length) {
  return draw_strings(Random(seed, 1'000'000 + static_cast<std::uint64_t>(length)), count, length, length);
}

Indices write_freely(const Decoder& decoder, const Encoded& source, Size count) {
  const PreparedKV memory = decoder.prepare(source);
  DecoderState state = decoder.start(source);
  const auto rows = static_cast<std::size_t>(source.states.size(0)),
             columns = static_cast<std::size_t>(count);
  Indices words(Ids(rows, kStart), {source.states.size(0)});
  Ids written(rows * columns);
  for (std::size_t t = 0; t < columns; ++t) {
    words = argmax(decoder.step(words, state, memory).logits);
    const Ids now = words.to_vector();
    for (std::size_t row = 0; row < rows; ++row) written[row * columns + t] = now[row];
  }
  return Indices(written, {source.states.size(0), count});
}

}  // namespace tapestry::kit
