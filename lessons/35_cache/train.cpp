#include "lessons/35_cache/train.hpp"

#include <algorithm>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/tasks/sorting.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"

namespace tapestry::lesson35 {

std::unique_ptr<LanguageModel> train_sorter(Kind kind, const kit::Options& options) {
  constexpr Size kStrings = 64;  // in a batch
  auto gpt = std::make_unique<LanguageModel>(model_options(kind, {.vocabulary = kit::kSortSymbols}));
  gpt->initialise(options.seed);
  const std::vector<Tensor> weights = gpt->parameters();
  AdamW adam(weights, {.learning_rate = 3e-3, .weight_decay = 0});
  const Size rise = std::max<Size>(1, options.steps / 25);
  const Schedule rate = then(warm_up(rise), rise, cosine_decay(std::max<Size>(1, options.steps - rise)));
  kit::Progress progress(options.steps);
  for (Size step = 1; step <= options.steps; ++step) {
    const kit::Random random(options.seed, static_cast<std::uint64_t>(step));
    const kit::NextTokens batch =
        kit::draw_sorting(random, options.smoke ? 4 : kStrings, kit::kFewestDigits, kit::kMostDigits, false);
    Tape tape;
    const Tensor loss = cross_entropy((*gpt)(batch.inputs), batch.targets);  // forward
    tape.backward(loss);
    clip_gradients(weights, 1.0);
    adam.step(rate(step));
    progress.step(loss.item());
  }
  progress.finish();
  gpt->eval();
  return gpt;
}

}  // namespace tapestry::lesson35
