// A run that is saved and loaded goes on bit for bit; what does not fit is listed, and nothing is loaded.
#include "optim/training_state.hpp"

#include <cmath>
#include <fstream>
#include <limits>

#include "core/io/file.hpp"
#include "core/io/restore.hpp"
#include "core/ops/arithmetic.hpp"
#include "core/ops/reduce.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"
#include "optim/sgd.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"
#include "tests/temporary.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;

namespace {

/// A little run: two weights, noise from the random state, a schedule, clipping.
template <class Method, class Options>
struct LittleRun {
  Tensor a = variable(random_normal({5, 3}, 1), "net.a"),
         b = variable(random_normal({3}, 2, DType::f64), "net.b");
  Method optimiser;
  Schedule rate = then(warm_up(4), 4, cosine_decay(20));
  std::uint64_t step = 0;

  explicit LittleRun(const Options& options) : optimiser({a, b}, options) { set_random(42); }

  void train(std::uint64_t until) {
    while (step < until) {
      random_state().step = ++step;
      random_state().site += 1;
      const Tensor noise = random_normal({5, 3}, random_state().seed + step);
      Tape tape;
      tape.backward(sum(a * a * noise) + sum(b * b).to(DType::f32));
      clip_gradients({a, b}, 0.5);
      optimiser.step(rate(static_cast<Size>(step)));
    }
  }
  std::map<std::string, State> living() {
    return {{"model", {{"net.a", a}, {"net.b", b}}}, {"optimiser", optimiser.state()}};
  }
  void save(const std::filesystem::path& path) {
    TrainingState state;
    state.sections = living();
    state.set_integer("step", step);
    state.set_random("random", random_state());
    state.save(path);
  }
  void load(const std::filesystem::path& path) {
    const TrainingState state = TrainingState::load(path);
    state.restore(living());
    step = state.integer("step");
    random_state() = state.random("random");
  }
};

template <class Method, class Options>
void check_resumes(const Options& options) {
  const test::TemporaryFolder folder;
  LittleRun<Method, Options> unbroken(options);
  unbroken.train(7);
  unbroken.save(folder / "state");
  unbroken.train(15);
  const RandomState random = random_state();

  LittleRun<Method, Options> resumed(options);
  resumed.train(2);  // whatever it did before is gone
  resumed.load(folder / "state");
  CHECK(resumed.step == 7);
  resumed.train(15);
  CHECK(random_state() == random);
  const auto expected = unbroken.living(), got = resumed.living();
  for (const auto& [section, state] : expected)
    for (const auto& [name, x] : state) {
      INFO(section << '/' << name);
      CHECK(got.at(section).at(name).to_vector() == x.to_vector());
    }
}

}  // namespace

TEST_CASE("a resumed run ends with the bits of an unbroken one") {
  check_resumes<Adam>(AdamOptions{});
  check_resumes<AdamW>(AdamWOptions{});
  check_resumes<SGD>(SGDOptions{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true});
  check_resumes<SGD>(SGDOptions{.learning_rate = 0.1});
}

TEST_CASE("values come back exactly") {
  const test::TemporaryFolder folder;
  TrainingState state;
  const double numbers[] = {
      0.1, -0.0, 5e-324, 1.7976931348623157e308, 1.0 / 3, std::numeric_limits<double>::infinity(), 3};
  for (int i = 0; i < 7; ++i) state.set_number(fmt::format("n{}", i), numbers[i]);
  state.set_number("nan", std::nan(""));
  state.set_integer("large", ~std::uint64_t{0});
  state.set_text("text", "zwei\nZeilen \"x\"");
  state.set_random("random", {~std::uint64_t{0}, 1, 2});
  state.save(folder / "state");
  const TrainingState back = TrainingState::load(folder / "state");
  for (int i = 0; i < 7; ++i) {
    const double value = back.number(fmt::format("n{}", i));
    CHECK((value == numbers[i] && std::signbit(value) == std::signbit(numbers[i])));
  }
  CHECK(std::isnan(back.number("nan")));
  CHECK(back.integer("large") == ~std::uint64_t{0});
  CHECK(back.text("text") == "zwei\nZeilen \"x\"");
  CHECK(back.random("random") == RandomState{~std::uint64_t{0}, 1, 2});
  CHECK(back.has("text"));
  CHECK_FALSE(back.has("none"));
  CHECK_THAT(message_of([&] { back.integer("none"); }),
             ContainsSubstring("state'") && ContainsSubstring("\"none\""));
  CHECK_THAT(message_of([&] { back.integer("text"); }),
             ContainsSubstring("zwei\\x0aZeilen") && ContainsSubstring("whole"));
  CHECK_THAT(message_of([&] { back.integer("n0"); }),
             ContainsSubstring("must be a whole number from 0 to 2^64 - 1, got \"0.1\""));
  CHECK_THAT(message_of([&] { back.number("text"); }), ContainsSubstring("must be a number"));
  CHECK_THAT(message_of([&] { back.random("n0"); }), ContainsSubstring("three whole numbers"));
}

TEST_CASE("what does not fit is listed, all of it, and nothing is loaded") {
  const test::TemporaryFolder folder;
  TrainingState saved;
  saved.sections["model"] = {
      {"fits", ones({2})}, {"turned", ones({3, 2})}, {"old", ones({1})}, {"type", ones({1}, DType::f64)}};
  saved.sections["other"] = {{"x", ones({1})}};
  saved.save(folder / "state");
  const TrainingState back = TrainingState::load(folder / "state");
  const State model{
      {"fits", zeros({2})}, {"turned", zeros({2, 3})}, {"new", zeros({1})}, {"type", zeros({1})}};
  const State optimiser{{"fits/m", zeros({2})}};
  const std::string message = message_of([&] { back.restore({{"model", model}, {"optimiser", optimiser}}); });
  CHECK_THAT(message, ContainsSubstring("/state'"));
  CHECK_THAT(message, ContainsSubstring("\"model/turned\" must have shape (2,3), got (3,2)"));
  CHECK_THAT(message, ContainsSubstring("\"model/new\" is missing"));
  CHECK_THAT(message, ContainsSubstring("unknown name \"model/old\""));
  CHECK_THAT(message, ContainsSubstring("\"model/type\" must be f32, got f64"));
  CHECK_THAT(message, ContainsSubstring("\"optimiser/fits/m\" is missing"));
  CHECK_THAT(message, ContainsSubstring("unknown name \"other/x\""));
  CHECK(model.at("fits").to_vector() == std::vector<double>{0, 0});
}

TEST_CASE("files that are no training state of this version are refused") {
  const test::TemporaryFolder folder;
  const auto refusal = [&](const State& tensors, const std::map<std::string, std::string>& metadata) {
    write_safetensors(folder / "file", tensors, metadata);
    return message_of([&] { TrainingState::load(folder / "file"); });
  };
  const std::string format = "Tapestry training state";
  CHECK_THAT(refusal({{"model/x", ones({1})}}, {}),
             ContainsSubstring("/file'") && ContainsSubstring("must be a training state"));
  CHECK_THAT(refusal({}, {{"format", "pt"}}), ContainsSubstring("must be a training state"));
  CHECK_THAT(refusal({}, {{"format", format}}),
             ContainsSubstring("version must be 1 for this program, got \"\""));
  CHECK_THAT(refusal({}, {{"format", format}, {"version", "2"}}),
             ContainsSubstring("version must be 1 for this program, got \"2\""));
  CHECK_THAT(refusal({{"x", ones({1})}}, {{"format", format}, {"version", "1"}}),
             ContainsSubstring("must be \"section/name\", got \"x\""));
  CHECK(refusal({{"a/x", ones({1})}}, {{"format", format}, {"version", "1"}}) == "(nothing thrown)");

  {
    const std::string header = R"({"__metadata__":{"format":")" + format + R"(","version":"1"},)" +
                               R"("a/ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})";
    std::ofstream file(folder / "file", std::ios::binary);
    for (std::size_t byte = 0; byte < 8; ++byte)
      file.put(static_cast<char>(header.size() >> (8 * byte) & 255));
    file << header << std::string(8, '\0');
  }
  CHECK_THAT(message_of([&] { TrainingState::load(folder / "file"); }),
             ContainsSubstring("got whole numbers in \"a/ids\""));

  TrainingState state;
  state.sections["a/b"] = {{"x", ones({1})}};
  CHECK_THAT(message_of([&] { state.save(folder / "file"); }), ContainsSubstring("\"a/b\""));
}

TEST_CASE("an optimiser's state is strict about names") {
  const Tensor a = variable(ones({2}), "a");
  Adam adam({a});
  State state = adam.state();
  CHECK(state.size() == 3);
  state.erase("a/v");
  state["a/w"] = ones({2});
  CHECK_THAT(message_of([&] { adam.load_state(state); }),
             ContainsSubstring("\"a/v\" is missing") && ContainsSubstring("unknown name \"a/w\""));
  CHECK(SGD({a}).state().empty());
  CHECK(SGD({a}, {.momentum = 0.5}).state().count("a/momentum") == 1);
  Adam twins({variable(ones({1}), "w"), variable(ones({1}), "w")});
  CHECK_THAT(message_of([&] { twins.state(); }), ContainsSubstring("got two called \"w\""));
  Adam unnamed({variable(ones({1})), variable(ones({1}))});
  CHECK(unnamed.state().count("parameter.1/v") == 1);
  // A tensor without values takes what is given.
  Tensor empty = zeros({2});
  empty.impl().buffer = {};
  restore({{"x", empty}}, {{"x", ones({2}, DType::f64)}}, "here does not fit");
  CHECK(empty.dtype() == DType::f64);
  CHECK(empty.at({1}) == 1);
}
