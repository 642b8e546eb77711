// The recurrent translators' command line: recipes, folders, and names of runs.
#include <array>
#include <set>

#include "lessons/15_translate/options.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/kept.hpp"
#include "tests/lessons/kit/program/command_line.hpp"

namespace tapestry::kit {
namespace {

using Catch::Matchers::ContainsSubstring;

const TranslatorRecipe kToy = {.embedding = 8, .hidden = 16, .rate = 0.01, .joined = 0.5};
const TranslatorRecipe kReal = {.embedding = 32, .hidden = 64, .epochs = 7, .rate = 0.001, .tied = true};

TranslatorSettings settings_of(const std::vector<const char*>& arguments, const TranslatorRecipe& recipe) {
  return settings_from<TranslatorSettings>(arguments, kToy, kReal, recipe);
}

}  // namespace

TEST_CASE("a recipe holds where the command line says nothing", "[kit]") {
  const TranslatorSettings usual = settings_of({}, kReal);
  CHECK(usual.recipe.hidden == 64);
  CHECK(usual.config.hidden == 64);
  CHECK(usual.config.embedding == 32);
  CHECK(usual.recipe.rate == 0.001);
  CHECK(usual.config.tied);
  CHECK_FALSE(usual.embedding_given);
  const TranslatorSettings toy = settings_of({}, kToy);
  CHECK(toy.config.hidden == 16);
  CHECK(toy.recipe.joined == 0.5);
  CHECK_FALSE(toy.config.tied);

  const TranslatorSettings given = settings_of(
      {"--hidden", "16", "--embedding", "8", "--rate", "0.01", "--untied", "--score", "none"}, kReal);
  CHECK(given.config.hidden == 16);  // although it is the toy's usual value
  CHECK(given.embedding_given);
  CHECK(given.recipe.rate == 0.01);
  CHECK_FALSE(given.config.tied);
  CHECK(given.config.score == "none");
  CHECK(given.recipe.epochs == 7);
}

TEST_CASE("configs follow from the score and --compare", "[kit]") {
  const auto scores = [](std::vector<const char*> arguments, bool and_none) {
    std::vector<std::string> names;
    for (const TranslatorConfig& config : plans_of(settings_of(std::move(arguments), kToy), and_none))
      names.push_back(config.score);
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(scores({}, false) == Names{"additive"});
  CHECK(scores({"--score", "general"}, true) == Names{"general", "none"});
  CHECK(scores({"--score", "none"}, true) == Names{"none"});
  CHECK(scores({"--compare"}, false) == kTranslatorScores);
}

TEST_CASE("a translator is trained for --steps where it is given, and for its epochs elsewhere", "[kit]") {
  const auto steps = [](const std::vector<const char*>& arguments) {
    const TranslatorSettings settings = settings_of(arguments, kReal);
    Options options;
    options.steps = 33;
    return training_of(options, settings, "task", "folder", settings.config, 1000).steps;
  };
  CHECK(steps({"--batch", "64"}) == 7 * 16);
  CHECK(steps({"--batch", "64", "--epochs", "2"}) == 2 * 16);
  CHECK(steps({"--batch", "64", "--steps", "33"}) == 33);
}

TEST_CASE("runs that differ have folders or names that differ", "[kit]") {
  const TranslatorSettings usual = settings_of({}, kToy);
  CHECK(folder_of("out", "task", usual.config) == std::filesystem::path("out/task"));
  std::set<std::filesystem::path> folders;
  for (const std::string& score : kTranslatorScores)
    for (const std::string& encoder : kTranslatorEncoders) {
      TranslatorConfig config = usual.config;
      config.score = score;
      config.encoder = encoder;
      folders.insert(folder_of("out", "task", config));
    }
  CHECK(folders.size() == kTranslatorScores.size() * kTranslatorEncoders.size());

  std::set<std::string> names;
  std::string lines;
  const std::vector<std::vector<const char*>> command_lines = {{},
                                                               {"--score", "none"},
                                                               {"--encoder", "lstm"},
                                                               {"--hidden", "18"},
                                                               {"--embedding", "9"},
                                                               {"--readout", "9"},
                                                               {"--batch", "9"},
                                                               {"--rate", "0.5"},
                                                               {"--dropout", "0.5"},
                                                               {"--smoothing", "0.2"},
                                                               {"--hold", "0.5"},
                                                               {"--average", "0.5"},
                                                               {"--joined", "0.1"},
                                                               {"--tied"},
                                                               {"--at-least", "1"},
                                                               {"--embeddings", "file.txt"}};
  for (const auto& line : command_lines) {
    const TranslatorSettings settings = settings_of(line, kToy);
    names.insert(training_of({}, settings, "task", "folder", settings.config).name);
    lines +=
        joined(line) + "\n    " + training_of({}, settings, "task", "folder", settings.config).name + "\n";
  }
  CHECK(difference("15_translate/names.txt", lines) == "");
  CHECK(names.size() == command_lines.size());
}

TEST_CASE("the embedding is as wide as the vectors", "[kit]") {
  const Scratch scratch;
  const Vocabulary words = Vocabulary::of({"le", "chat"});
  const std::string file = scratch.write("vectors.txt", "le 1 2 3\n").string();
  TranslatorSettings settings = settings_of({"--embeddings", file.c_str()}, kReal);
  CHECK(embeddings_for(words, settings).of.size() == 1);
  CHECK(settings.config.embedding == 3);
  settings = settings_of({"--embeddings", file.c_str(), "--embedding", "3"}, kReal);
  CHECK(embeddings_for(words, settings).width == 3);
  settings = settings_of({"--embeddings", file.c_str(), "--embedding", "4"}, kReal);
  CHECK_THAT(usage_error([&] { embeddings_for(words, settings); }),
             ContainsSubstring("--embedding 4") && ContainsSubstring("3 numbers per vector"));
  settings = settings_of({}, kReal);
  CHECK(embeddings_for(words, settings).of.empty());
  CHECK(settings.config.embedding == 32);
}

TEST_CASE("numbers of a translator have their ranges", "[kit]") {
  for (const auto& [name, least, most, below, above] :
       std::vector<std::array<const char*, 5>>{{"--embedding", "1", "4096", "0", "4097"},
                                               {"--hidden", "1", "4096", "0", "4097"},
                                               {"--batch", "1", "4096", "0", "4097"},
                                               {"--epochs", "1", "1000", "0", "1001"},
                                               {"--rate", "1e-6", "1", "9e-7", "1.01"},
                                               {"--dropout", "0", "0.9", "-0.1", "0.91"},
                                               {"--smoothing", "0", "0.9", "-0.1", "0.91"},
                                               {"--hold", "0", "0.95", "-0.1", "0.96"},
                                               {"--average", "0", "0.9999", "-0.1", "1"},
                                               {"--joined", "0", "2", "-0.1", "2.1"},
                                               {"--readout", "0", "4096", "-1", "4097"},
                                               {"--at-least", "1", "1000000", "0", "1000001"},
                                               {"--beam", "1", "100", "0", "101"},
                                               {"--length-power", "0", "3", "-0.1", "3.1"}})
    check_range(
        [](Lesson& program) {
          static TranslatorSettings settings;
          add_options(program, settings, kToy, kReal);
        },
        name, least, most, below, above);
}

TEST_CASE("a translator's recipe that says nothing is the usual config", "[kit]") {
  const TranslatorConfig config = settings_of({}, {}).config, usual;
  CHECK(texts_of(config) == texts_of(usual));
  CHECK(config.score == "additive");
  CHECK(config.encoder == "gru");
  CHECK(config.embedding == 256);
  CHECK(config.hidden == 256);
  CHECK(config.readout == 0);
  CHECK(config.dropout == usual.dropout);
  CHECK(config.tied == usual.tied);
}

}  // namespace tapestry::kit
