// libFuzzer: any bytes as the state of a training run are read, or refused with an Error of one line; what a
// lesson then asks of it is there, or is refused in the same way, and nothing is restored by half.
#include "optim/training_state.hpp"

#include "core/tensor/create.hpp"
#include "lessons/kit/text/lexicon.hpp"
#include "tests/fuzz/foreign.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tapestry;
  static const fuzz::MemoryFile file;
  file.write(fuzz::text_of(data, size));
  fuzz::or_refused([&] {
    const TrainingState saved = TrainingState::load(file.path());
    fuzz::or_refused([&] { saved.integer("step"); });
    fuzz::or_refused([&] { saved.number("seconds"); });
    fuzz::or_refused([&] { saved.text("run"); });
    fuzz::or_refused([&] { saved.random("random"); });
    fuzz::or_refused([&] { kit::Lexicon::from(saved, "source", "fuzz"); });
    const Tensor weight = ones({2}, DType::f32), other = ones({2}, DType::f32);
    bool restored = false;
    fuzz::or_refused([&] {
      saved.restore({{"model", {{"a", weight}, {"b", other}}}});
      restored = true;
    });
    const auto untouched = [](const Tensor& x) { return x.to_vector() == std::vector<double>{1, 1}; };
    fuzz::must(restored || (untouched(weight) && untouched(other)));
  });
  return 0;
}
