// Training of a language model on characters: sizes, schedule, checkpoints, log, and validation during training.
#include "lessons/20_gpt/train_on_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "core/core.hpp"
#include "lessons/kit/program/files.hpp"
#include "lessons/kit/program/peak_memory.hpp"
#include "lessons/kit/program/progress.hpp"
#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/train/log.hpp"
#include "lessons/kit/train/recipe_numbers.hpp"
#include "nn/positions/positions.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/parallel/data_parallel.hpp"
#include "optim/schedule.hpp"

namespace tapestry::lesson20 {

namespace {

constexpr double kDecay = 0.1, kLowestRate = 0.02;
constexpr Size kEverySoManyWindows = 8;  // a validation during training uses every 8th window

using Recipe = LanguageRecipe;

constexpr kit::RecipeNumber<Recipe> kNumbers[] = {
    {"--layers", &Recipe::layers, "blocks", 1, 100},
    {"--heads", &Recipe::heads, "attention heads; the width must be a multiple", 1, 128},
    {"--width", &Recipe::width, "width of the model", 1, 4096},
    {"--context", &Recipe::context, "context length in characters", 2, 4096},
    {"--batch", &Recipe::batch, "batch size in windows", 1, 4096},
    {"--dropout", &Recipe::dropout, "dropout of embeddings, attention weights and residual branches", 0, 0.9},
    {"--rate", &Recipe::rate, "highest learning rate", 1e-6, 1},
};

Schedule schedule(Size steps) {
  const Size rise = std::max<Size>(1, steps / 20);
  return then(warm_up(rise), rise, cosine_decay(std::max<Size>(1, steps - rise), kLowestRate));
}

/// The mean loss of a part of these windows, and the number of characters in it.
PartLoss loss_of(const LanguageModel& model, const kit::Windows& windows, const Part& part) {
  const Size rows = windows.inputs.shape()[0], begin = part.begin(rows), end = part.end(rows);
  if (begin == end) return {};
  const Indices targets = kit::rows_of(windows.targets, begin, end);
  return {cross_entropy(model(kit::rows_of(windows.inputs, begin, end)), targets),
          static_cast<double>(targets.count())};
}

}  // namespace

TransformerOptions language_model_options(const LanguageRecipe& recipe, Size vocabulary) {
  TransformerOptions options;
  options.vocabulary = vocabulary;
  options.layers = recipe.layers;
  options.block.width = recipe.width;
  options.block.heads = recipe.heads;
  options.block.bias = Bias::no;
  options.block.dropout = options.dropout = options.block.attention_dropout = recipe.dropout;
  options.positions =
      recipe.positions == "rotary"
          ? rotary()
          : learned_positions(recipe.context, 1 / std::sqrt(static_cast<double>(recipe.width)));
  options.scale_words = false;
  return options;
}

void add_options(kit::Lesson& program, LanguageRecipe& recipe, const LanguageRecipe& usual,
                 const LanguageRecipe& otherwise, const std::string& where) {
  kit::add_options(program, kNumbers, recipe, usual, otherwise, where);
  program.add("--positions", recipe.positions, "position information", {"learned", "rotary"});
}

void apply_recipe(const kit::Lesson& program, const LanguageRecipe& usual, LanguageRecipe& recipe) {
  kit::apply_recipe(program, kNumbers, usual, recipe);
  if (!program.given("--positions")) recipe.positions = usual.positions;
  recipe.steps = usual.steps;
  kit::check_heads(recipe);
  if (recipe.positions == "rotary" && recipe.width / recipe.heads % 2 != 0)
    throw kit::UsageError(fmt::format("with rotary positions, width / heads must be even, got {} / {}",
                                      recipe.width, recipe.heads));
}

kit::RunPlace train_language_model(LanguageModel& model, const kit::CharCorpus& corpus,
                                   const LanguageTraining& how) {
  using Clock = std::chrono::steady_clock;
  const Recipe& recipe = how.recipe;
  AdamW adam;
  std::vector<Tensor> matrices, vectors;
  for (const Tensor& weight : model.parameters()) (weight.rank() > 1 ? matrices : vectors).push_back(weight);
  // β₂ = 0.99: in a run of a few thousand steps, a mean over a thousand steps would lag too far behind.
  adam.add_group(matrices, {.learning_rate = recipe.rate, .beta2 = 0.99, .weight_decay = kDecay});
  adam.add_group(vectors, {.learning_rate = recipe.rate, .beta2 = 0.99, .weight_decay = 0});
  const Schedule rate = schedule(recipe.steps);
  DataParallel ranks(how.ranks.communicator(), model.parameters(),
                     {.parts = static_cast<int>(how.ranks.parts)});

  kit::draw_windows(corpus.train, kit::Random(how.seed, 0), 1,
                    recipe.context);  // throws for a text that is too short, before any file is written
  kit::make_writable_folder(how.out);
  // Every setting that distinguishes this run from others.
  const std::string name =
      fmt::format("{}, seed {}, {}, {} positions, {} steps", kit::name_of_text(corpus.hash), how.seed,
                  kit::text_of(kNumbers, recipe), recipe.positions, recipe.steps);
  kit::Checkpoints checkpoints(how.out / "checkpoint.safetensors", name, model, adam);
  checkpoints.ranks = how.ranks;
  if (how.fresh) checkpoints.forget();
  checkpoints.texts = kit::sizes_as_texts(kNumbers, recipe);
  checkpoints.texts["alphabet"] = corpus.characters.alphabet();
  checkpoints.texts["positions"] = recipe.positions;
  kit::RunPlace place;
  const bool resumed = checkpoints.resume(place);
  if (resumed)
    fmt::print("  resuming at step {} of {} ({})\n", place.step, recipe.steps, checkpoints.file().string());
  kit::RunLog log(how.out / "log.csv", {"loss", "characters", "seconds", "validation"},
                  resumed ? std::optional(place.step) : std::nullopt);

  kit::Progress progress(recipe.steps, {.done = place.step, .unit = "characters"});
  const double characters = static_cast<double>(recipe.batch * recipe.context);
  model.train();
  auto started = Clock::now();
  while (place.step < recipe.steps) {
    const auto step = static_cast<std::uint64_t>(++place.step);
    const kit::Windows windows =
        kit::draw_windows(corpus.train, kit::Random(how.seed, step), recipe.batch, recipe.context);
    const double loss =
        ranks.gradients(how.seed, step, [&](const Part& part) { return loss_of(model, windows, part); });
    clip_gradients(model.parameters(), 1.0);
    adam.step(rate(place.step));
    place.words += characters;
    progress.step(loss, characters);

    const bool last = place.step == recipe.steps, look = last || place.step % how.steps_per_look == 0;
    place.seconds += std::chrono::duration<double>(Clock::now() - started).count();
    if (look || place.step % 50 == 0) {
      double validation = std::numeric_limits<double>::quiet_NaN();
      if (look) {
        validation = kit::loss_per_character(model, corpus.valid, recipe.context, kEverySoManyWindows);
        progress.note(
            fmt::format("  step {:>6}  {:>5.1f} min  loss {:.3f}  "
                        "on part of the validation text {:.3f}",
                        place.step, place.seconds / 60, progress.loss(), validation));
      }
      log.row(place.step, {loss, place.words, place.seconds, validation});
    }
    const bool stop = place.step == how.stop_after;
    checkpoints.save(place, last || stop);
    if (stop) break;
    started = Clock::now();
  }
  progress.finish();
  if (place.seconds > 0)
    fmt::print(
        "  trained {} steps, {:.0f} characters in {:.1f} s: {:.0f} characters/s, {:.1f} ms per step; peak "
        "memory {:.0f} MiB\n",
        place.step, place.words, place.seconds, place.words / place.seconds,
        1000 * place.seconds / static_cast<double>(place.step), kit::peak_memory());
  return place;
}

SavedLanguageModel load_language_model(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file))
    throw kit::UsageError(fmt::format(
        "there is no trained model at {}; train one first with --data, the same --out and --preset, and "
        "without --smoke",
        file.string()));
  const TrainingState saved = kit::load_checkpoint(file);
  try {
    SavedLanguageModel loaded{Characters::of(saved.text("alphabet")), {}, nullptr};
    kit::read_sizes(saved, kNumbers, loaded.recipe);
    loaded.recipe.positions = saved.text("positions");
    loaded.model =
        std::make_unique<LanguageModel>(language_model_options(loaded.recipe, loaded.characters.size()));
    loaded.model->load_state(saved.sections.at("model"));
    loaded.model->eval();
    return loaded;
  } catch (const std::exception& error) {
    throw kit::UsageError(
        fmt::format("{} is not the checkpoint of a language model ({})", file.string(), error.what()));
  }
}

}  // namespace tapestry::lesson20
