#include "lessons/kit/reversal.hpp"

#include <string>
#include <utility>
#include <vector>

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

}  // namespace tapestry::kit
