#include "lessons/37_speculate/train.hpp"

#include <algorithm>

#include "core/core.hpp"
#include "lessons/37_speculate/measure.hpp"
#include "lessons/kit/kit.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"

namespace tapestry::lesson37 {

void train(LanguageModel& model, const Ids& text, Size steps, std::uint64_t seed) {
  constexpr Size kBatch = 4;
  AdamW adam(model.parameters(), {.learning_rate = 5e-3, .beta2 = 0.99, .weight_decay = 0.1});
  const Size rise = std::max<Size>(1, steps / 20);
  const Schedule rate = then(warm_up(rise), rise, cosine_decay(std::max<Size>(1, steps - rise), 0.02));
  kit::Progress progress(steps, {.unit = "characters"});
  model.train();
  for (Size step = 1; step <= steps; ++step) {
    const kit::Random random(seed, static_cast<std::uint64_t>(step));
    const kit::Windows windows = kit::draw_windows(text, random, kBatch, kContext);
    Tape tape;
    const Tensor loss = cross_entropy(model(windows.inputs), windows.targets);
    tape.backward(loss);
    clip_gradients(model.parameters(), 1.0);
    adam.step(rate(step));
    progress.step(loss.item(), static_cast<double>(kBatch * kContext));
  }
  progress.finish();
  model.eval();
}

}  // namespace tapestry::lesson37
