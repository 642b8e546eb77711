// Training loop of most lessons: AdamW, warm-up and cosine decay, gradients clipped to norm 1.
#include "lessons/kit/train/loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/core.hpp"
#include "lessons/kit/program/progress.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"

namespace tapestry::kit {

double train(Module& model, const Training& how, const std::function<Tensor(Random random)>& loss) {
  using Clock = std::chrono::steady_clock;
  const std::vector<Tensor> weights = model.parameters();
  AdamW adam(weights, {.learning_rate = how.rate, .weight_decay = how.weight_decay});
  const Size rise = std::max<Size>(1, how.steps / 25);
  const Schedule rate = then(warm_up(rise), rise, cosine_decay(std::max<Size>(1, how.steps - rise)));
  double seconds = 0;
  Progress progress(how.steps, {.unit = how.unit});
  for (Size step = 1; step <= how.steps; ++step) {
    const auto began = Clock::now();
    const auto stream = static_cast<std::uint64_t>(step);
    set_random(how.seed, stream);
    double value = 0;
    {
      Tape tape;
      const Tensor of_batch = loss(Random(how.seed, stream));
      tape.backward(of_batch);
      value = of_batch.item();
    }
    clip_gradients(weights, 1.0);
    adam.step(rate(step));
    seconds += std::chrono::duration<double>(Clock::now() - began).count();
    progress.step(value, static_cast<double>(how.batch));
    if (how.after_step) how.after_step(step);
  }
  progress.finish();
  fmt::print(stderr, "  {}: {} steps in {:.1f} s, {:.1f} ms per step\n", how.name, how.steps, seconds,
             1000 * seconds / static_cast<double>(how.steps));
  return seconds;
}

}  // namespace tapestry::kit
