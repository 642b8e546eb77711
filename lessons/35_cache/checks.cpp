#include "lessons/35_cache/checks.hpp"

#include <vector>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/tasks/sorting.hpp"

namespace tapestry::lesson35 {

double percent_sorted(const LanguageModel& gpt, Size fewest, const kit::Options& options) {
  double right = 0;
  for (Size digits = fewest; digits <= kit::kMostDigits; ++digits) {
    const kit::NextTokens test = kit::draw_sorting(kit::Random(options.seed, 2'000'000),
                                                   options.smoke ? 4 : 2000, digits, digits, true);
    right += kit::percent_rows_equal(argmax(gpt(test.inputs)).columns(digits, 2 * digits),
                                     test.targets.columns(digits, 2 * digits));
  }
  return right / static_cast<double>(kit::kMostDigits - fewest + 1);
}

Tensor logits_with_cache(const LanguageModel& gpt, const Indices& ids, StackCache& cache) {
  std::vector<Tensor> logits;
  for (Size t = 0; t < ids.shape()[1]; ++t) logits.push_back(gpt(ids.columns(t, t + 1), cache));
  return concat(logits, 1);
}

}  // namespace tapestry::lesson35
