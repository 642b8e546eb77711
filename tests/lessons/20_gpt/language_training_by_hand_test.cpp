// A language model's training written out: what is drawn, which weights decay, how the rate goes, what is
// logged. The steps are plain arithmetic on plain numbers.
#include <set>

#include "core/core.hpp"
#include "lessons/20_gpt/train_on_text.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"
#include "tests/lessons/kit/train/adam_by_hand.hpp"
#include "tests/lessons/kit/train/log_table.hpp"

using namespace tapestry;

namespace {

constexpr Size kScheduledSteps = 60;  // the rate rises for 3 and falls for 57

/// Nine tenths are prose, the last tenth, for validation, is something else.
kit::CharCorpus prose_and_other_end(const kit::Scratch& scratch) {
  std::string text;
  for (int i = 0; i < 45; ++i) text += "to be, or not to be\n";
  for (int i = 0; i < 10; ++i) text += "eb ot ton\n";
  return kit::read_characters(scratch.write("text.txt", text));
}

lesson20::LanguageTraining scheduled_training(const std::filesystem::path& out) {
  lesson20::LanguageTraining how;
  how.recipe = {.layers = 2,
                .heads = 2,
                .width = 8,
                .context = 6,
                .batch = 3,
                .steps = kScheduledSteps,
                .dropout = 0.2,
                .rate = 1e-2};
  how.out = out;
  how.seed = 5;
  how.steps_per_look = 20;
  return how;
}

std::unique_ptr<LanguageModel> model_of(const lesson20::LanguageTraining& how,
                                        const kit::CharCorpus& corpus) {
  auto model =
      std::make_unique<LanguageModel>(lesson20::language_model_options(how.recipe, corpus.characters.size()));
  model->initialise(7, DType::f64);
  for (auto& [name, weight] : model->state()) {  // biases start at 0, where no decay can be seen
    Tensor target = weight;
    if (name.ends_with("bias")) assign(target, full(weight.shape(), 0.3, DType::f64));
  }
  return model;
}

/// By name: all but the gains and biases of norms.
bool decays(const std::string& name) { return name.find("norm") == std::string::npos; }

/// The mean of −log P over every eighth window of a text, each character by those before it in its window.
double validated(const LanguageModel& model, const Ids& text, Size length) {
  double sum = 0, count = 0;
  const auto last = static_cast<Size>(text.size()) - 1;
  for (Size start = 0; start < last; start += 8 * length) {
    const Size here = std::min(length, last - start);
    const auto first = text.begin() + start;
    const Tensor log_p = log_softmax(model(Indices(Ids(first, first + here), {1, here})), -1);
    for (Size t = 0; t < here; ++t, ++count)
      sum -= log_p.at({0, t, text[static_cast<std::size_t>(start + t + 1)]});
  }
  return sum / count;
}

}  // namespace

TEST_CASE("a language model's training is the loop written out", "[kit]") {
  const kit::Scratch scratch;
  const kit::CharCorpus corpus = prose_and_other_end(scratch);
  const lesson20::LanguageTraining how = scheduled_training(scratch.path("run"));
  const auto model = model_of(how, corpus), by_hand = model_of(how, corpus);
  const kit::RunPlace end = lesson20::train_language_model(*model, corpus, how);
  CHECK(end.step == kScheduledSteps);
  CHECK(end.words == kScheduledSteps * 3 * 6);

  const kit::LogTable log = kit::read_log(how.out / "log.csv");
  CHECK(log.size() == 4);  // 20, 40, 50 and 60
  kit::AdamByHand adam(*by_hand, 1e-2, 0.99, 0.1, decays);
  for (Size step = 1; step <= kScheduledSteps; ++step) {
    CAPTURE(step);
    set_random(5, static_cast<std::uint64_t>(step));
    const kit::Windows windows =
        kit::draw_windows(corpus.train, kit::Random(5, static_cast<std::uint64_t>(step)), 3, 6);
    double loss = 0;
    {
      Tape tape;
      const Tensor log_p = log_softmax((*by_hand)(windows.inputs), -1);
      const Tensor chosen = sum(log_p * one_hot(windows.targets, log_p.size(-1), DType::f64));
      const Tensor mean_loss = chosen * (-1.0 / 18);
      tape.backward(mean_loss);
      loss = mean_loss.item();
    }
    adam.step(step <= 3 ? static_cast<double>(step) / 3
                        : kit::half_cosine(static_cast<double>(step - 3) / 57, 0.02));
    const auto row = log.find(step);
    const bool look = step % 20 == 0;
    CHECK((row != log.end()) == (look || step % 50 == 0));
    if (row == log.end()) continue;
    CHECK(row->second.at("loss") == Approx(loss).epsilon(1e-9));
    CHECK(row->second.at("characters") == static_cast<double>(step * 18));
    if (!look) {
      CHECK(std::isnan(row->second.at("validation")));
      continue;
    }
    const Evaluating evaluating(*by_hand);
    CHECK(row->second.at("validation") == Approx(validated(*by_hand, corpus.valid, 6)).epsilon(1e-9));
    CHECK(std::abs(validated(*by_hand, corpus.train, 6) / row->second.at("validation") - 1) > 0.1);
  }
  CHECK((adam.cuts() > 0 && adam.cuts() < kScheduledSteps));
  CHECK(kit::farthest(model->state(), by_hand->state()) < 1e-9);
}

TEST_CASE("which weights of a language model decay, by name", "[kit]") {
  // With no gradient to speak of, a weight that decays is smaller after a step, and any other is as it was.
  const kit::Scratch scratch;
  const kit::CharCorpus corpus = prose_and_other_end(scratch);
  for (const char* positions : {"learned", "rotary"}) {
    lesson20::LanguageTraining how = scheduled_training(scratch.path(positions));
    how.recipe.positions = positions;
    how.recipe.dropout = 0;
    how.recipe.steps = 1;
    const auto model = model_of(how, corpus), before = model_of(how, corpus);
    lesson20::train_language_model(*model, corpus, how);
    std::set<std::string> shrunk, kept;
    const State then = before->state(), now = model->state();
    // Adam's first step moves every number by the rate or, where it has no gradient, by nothing: what is left
    // over is a thousandth of the weight (0.01 · 0.1) where it decays.
    for (const auto& [name, weight] : then) {
      double decayed = 0, all = 0;
      const auto old = weight.to_vector(), fresh = now.at(name).to_vector();
      for (std::size_t i = 0; i < old.size(); ++i) {
        const double moved = std::abs(fresh[i] - old[i] * (1 - 1e-3)), stayed = std::abs(fresh[i] - old[i]);
        const auto by_rate = [](double x) { return std::abs(x - 1e-2) < 1e-6 || x < 1e-9; };
        decayed += by_rate(moved) && !by_rate(stayed);
        ++all;
      }
      (decayed > all / 2 ? shrunk : kept).insert(name);
    }
    std::set<std::string> matrices{"input.words.weight"}, vectors{"stack.norm.weight", "stack.norm.bias"};
    if (how.recipe.positions == "learned") matrices.insert("input.positions.weight");
    for (const std::string block : {"stack.blocks.0.", "stack.blocks.1."}) {
      for (const char* part :
           {"self.query", "self.key", "self.value", "self.output", "feed_forward.in", "feed_forward.out"})
        matrices.insert(block + part + ".weight");
      for (const char* norm : {"self_norm", "feed_forward_norm"})
        for (const char* what : {".weight", ".bias"}) vectors.insert(block + norm + what);
    }
    CHECK(shrunk == matrices);
    CHECK(kept == vectors);
  }
}

TEST_CASE("a language model's run that was stopped logs what an unbroken one logs", "[kit]") {
  const kit::Scratch scratch;
  const kit::CharCorpus corpus = prose_and_other_end(scratch);
  const auto run = [&](const char* name, const std::vector<Size>& stops) {
    lesson20::LanguageTraining how = scheduled_training(scratch.path(name));
    kit::RunPlace place;
    double seconds = 0, wall = 0;
    for (const Size stop : stops) {
      how.stop_after = stop;
      const auto model = model_of(how, corpus);
      wall += kit::seconds([&] { place = lesson20::train_language_model(*model, corpus, how); });
      CHECK(place.seconds > seconds);  // of all parts together
      CHECK(place.seconds <= wall);    // each second once
      seconds = place.seconds;
    }
    CHECK(place.words == kScheduledSteps * 18);
    kit::LogTable log = kit::read_log(how.out / "log.csv");
    for (auto& [step, row] : log) row.erase("seconds");
    return log;
  };
  const kit::LogTable unbroken = run("unbroken", {0}), stopped = run("stopped", {7, 20, 21, 59, 0});
  REQUIRE(stopped.size() == unbroken.size());
  for (const auto& [step, row] : unbroken)
    for (const auto& [column, value] : row) {
      CAPTURE(step, column);
      const double found = stopped.at(step).at(column);
      CHECK((found == value || (std::isnan(found) && std::isnan(value))));
    }
}
