// A run that was stopped and resumed ends with the bits of an unbroken one.
#include "lessons/kit/train/resume.hpp"

#include <fstream>

#include "core/core.hpp"
#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/random.hpp"
#include "lessons/kit/tensors.hpp"
#include "nn/seq2seq/seq2seq.hpp"
#include "optim/adam.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

using namespace tapestry;
using kit::Pair;

namespace {

std::vector<Pair> pairs() {
  std::vector<Pair> all;
  kit::Random random(4);
  for (int i = 0; i < 50; ++i) {
    Pair pair{{}, {kit::kStart}};
    for (std::int64_t n = random.between(1, 6); n > 0; --n) {
      pair.source.push_back(random.between(4, 19));
      pair.target.push_back(random.between(4, 19));
    }
    pair.source.push_back(kit::kEnd);
    pair.target.push_back(kit::kEnd);
    all.push_back(pair);
  }
  return all;
}

/// Trains up to step `until`, going on from the checkpoint if there is one, and returns all weights.
std::vector<double> run(const std::filesystem::path& file, Size until, const std::string& name = "run") {
  TranslatorOptions options;
  options.encoder = {.vocabulary = 20, .embedding = 8, .hidden = 9, .dropout = 0.3};
  options.decoder = {
      .vocabulary = 20, .embedding = 8, .hidden = 9, .attention = 7, .readout = 8, .dropout = 0.3};
  Translator model(options);
  model.initialise(1);
  Adam adam(model.parameters());
  kit::Batches batches(pairs(), {.size = 8, .pool = 2, .seed = 5});
  kit::Checkpoints checkpoints(file, name, model, adam);
  kit::RunPlace place;
  checkpoints.resume(place);
  batches.go_to(place.data);
  while (place.step < until) {
    const kit::Batch batch = batches.next();
    const kit::Forcing forcing = kit::teacher_forcing(batch.target);
    set_random(1, static_cast<std::uint64_t>(++place.step));
    Tape tape;
    tape.backward(cross_entropy(
        model(kit::indices(batch.source), kit::valid_lengths(batch.source), kit::indices(forcing.input)),
        kit::indices(forcing.output), {.ignore = kit::kPad}));
    adam.step();
    place.data = batches.place();
    place.words += static_cast<double>(forcing.words);
  }
  checkpoints.save(place, true);
  std::vector<double> all{place.words};
  for (const Tensor& weight : model.parameters())
    for (const double value : weight.to_vector()) all.push_back(value);
  return all;
}

}  // namespace

TEST_CASE("stopped and resumed, at any step, equals unbroken") {
  const kit::Scratch scratch;
  const std::vector<double> unbroken = run(scratch.folder() / "unbroken", 17);
  for (const Size stop : {1, 6, 7, 13}) {
    const auto file = scratch.folder() / ("stopped" + std::to_string(stop));
    run(file, stop);
    CHECK(run(file, 17) == unbroken);
  }
}

TEST_CASE("a folder has one run at a time") {
  const kit::Scratch scratch;
  {
    const kit::FolderLock first(scratch.folder());
    CHECK(kit::usage_error([&] { run(scratch.folder() / "checkpoint", 1); }) ==
          "another run is using the folder '" + scratch.folder().string() +
              "'; wait until it ends, or choose another --out");
    CHECK(scratch.files() == 0);
  }
  run(scratch.folder() / "checkpoint", 1);
  CHECK(scratch.files() == 1);
  const kit::FolderLock none(scratch.folder() / "none");  // nothing to lock
}

TEST_CASE("a checkpoint of another run, or a damaged one, is refused and left alone") {
  const kit::Scratch scratch;
  const auto file = scratch.folder() / "checkpoint";
  run(file, 2);
  CHECK_THROWS_AS(run(file, 3, "another run"), kit::UsageError);
  const auto size = std::filesystem::file_size(file);
  std::filesystem::resize_file(file, size / 2);
  CHECK_THROWS_AS(run(file, 3), kit::UsageError);
  CHECK(std::filesystem::file_size(file) == size / 2);
}
