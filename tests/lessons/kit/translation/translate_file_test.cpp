// Files translated line by line: as single sentences are, in order, and what is refused.
#include "lessons/kit/translation/translate_file.hpp"

#include <set>

#include "core/core.hpp"
#include "lessons/kit/text/long_lines.hpp"
#include "lessons/kit/translation/grammar_corpus.hpp"
#include "lessons/kit/translation/options.hpp"
#include "lessons/kit/translation/recurrent_config.hpp"
#include "lessons/kit/translation/transformer_config.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/printed.hpp"
#include "tests/lessons/kit/program/command_line.hpp"
#include "tests/lessons/kit/scratch.hpp"
#include "tests/lessons/kit/standard_input.hpp"
#include "tests/lessons/kit/translation/tiny_corpus.hpp"

namespace tapestry::kit {
namespace {

using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

/// Sentences of the grammar, of many lengths, with lines that are odd.
std::vector<std::string> odd_lines() {
  std::vector<std::string> lines;
  for (const GrammarSentence& one : grammar_sentences(5, 1, GrammarSplit::fresh, 30, 0.2))
    lines.push_back(join_words(one.source));
  lines[3] = "";
  lines[7] = "  the   red\thouse ";
  lines[11] = lines[1] + " and " + lines[2];
  return lines;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

/// Every decoder there is, with random weights: what they write is nonsense, and differs from line to line.
std::vector<std::unique_ptr<SequenceModel>> all_decoders(const Corpus& corpus) {
  std::vector<std::unique_ptr<SequenceModel>> all;
  for (const std::string& score : kTranslatorScores) {
    TranslatorConfig config;
    config.score = score;
    config.embedding = config.hidden = 12;
    all.push_back(make_translator(config, corpus.source.size(), corpus.target.size()));
  }
  for (const bool recurrent : {false, true})
    all.push_back(
        make_translator({.layers = 2, .width = 12, .heads = 2, .hidden = 12, .recurrent_decoder = recurrent},
                        corpus.source.size(), corpus.target.size()));
  TranslatorOptions luong;
  luong.encoder = {.vocabulary = corpus.source.size(), .embedding = 12, .hidden = 6};
  luong.decoder = {
      .vocabulary = corpus.target.size(), .embedding = 12, .hidden = 12, .attention = 12, .readout = 12};
  all.push_back(std::make_unique<LuongTranslator>(luong));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i]->initialise(i + 1);
    for (Tensor& weight : all[i]->parameters())
      assign(weight, contiguous(weight * 2.5));  // sure of something
  }
  return all;
}

Corpus grammar() { return grammar_corpus(5, {.sentences = 20}); }

}  // namespace

TEST_CASE("a file's lines are translated as single sentences are, by every decoder", "[kit]") {
  const Scratch scratch;
  const Corpus corpus = grammar();
  const std::vector<std::string> lines = odd_lines();
  const fs::path in = scratch.write("in", text_of(lines)), out = scratch.path("out");
  for (const auto& model : all_decoders(corpus))
    for (const Size beam : {1, 3}) {
      const TranslateOptions how = {.beam = beam, .max_length = 9, .batch = 7};
      std::set<std::string> different;
      std::string expected;
      for (const std::string& line : lines) {
        const Words words = split_words(line);
        if (!words.empty())
          expected += join_words(translate(*model, corpus.source, corpus.target, {words}, how).front().words);
        expected += '\n';
        different.insert(expected.substr(expected.rfind('\n', expected.size() - 2) + 1));
      }
      CHECK(different.size() > 5);
      translate_file(*model, corpus.source, corpus.target, {.file = in, .output = out}, how);
      CHECK(scratch.read("out") == expected);
      const StandardInput input(text_of(lines));
      translate_file(*model, corpus.source, corpus.target, {.file = "-", .output = out}, how);
      CHECK(scratch.read("out") == expected);
    }
}

TEST_CASE("more lines than a group holds stay in order", "[kit]") {
  const Scratch scratch;
  const Corpus corpus = tiny_corpus();
  TranslatorConfig config;
  config.embedding = config.hidden = 6;
  const auto model = make_translator(config, corpus.source.size(), corpus.target.size());
  model->initialise(1);
  std::string in, expected;
  for (int i = 0; i < 2'345; ++i) {
    in += std::string(i % 3 == 0 ? "a b" : i % 7 == 0 ? "c" : "b c d") + '\n';
    expected += std::to_string(i) + '\n';
  }
  int line = 0;
  const auto number = [&](std::vector<Translation> some) {  // whatever was written
    for (Translation& each : some) each.words = {std::to_string(line++)};
    return some;
  };
  translate_file(*model, corpus.source, corpus.target,
                 {.file = scratch.write("in", in), .output = scratch.path("out")}, {.max_length = 2}, number);
  CHECK(scratch.read("out") == expected);
}

TEST_CASE("what cannot be translated is refused before anything is written", "[kit]") {
  const Scratch scratch;
  const Corpus corpus = grammar();
  const auto model = std::move(all_decoders(corpus).front());
  const fs::path out = scratch.path("out");
  const auto error = [&](const FileTranslation& what) {
    return usage_error(
        [&] { translate_file(*model, corpus.source, corpus.target, what, {.max_length = 3}); });
  };
  CHECK_THAT(error({.file = scratch.path("none"), .output = out}), ContainsSubstring("no such file"));
  for (const auto& [damage, why] :
       {std::pair<std::string, const char*>{"\xFFz", "in:3: invalid UTF-8 (byte 0xff at byte 1"},
        {std::string("a\0b", 3), "in:3: a NUL byte at byte 2"},
        {std::string(kMostBytesInLine + 1, 'x'), "in:3: the line has more bytes than the limit"}})
    CHECK_THAT(error({.file = scratch.write("in", "the house\n\n" + damage + "\nthe end\n"), .output = out}),
               ContainsSubstring(why));
  const fs::path two = scratch.write("in", "the house\nthe door\n"),
                 one = scratch.write("one", "la maison\n");
  CHECK_THAT(error({.file = two, .output = out, .references = one}),
             ContainsSubstring("in' has 2 lines") && ContainsSubstring("one' has 1"));
  CHECK_THAT(error({.file = two, .output = out, .references = scratch.path("none")}),
             ContainsSubstring("no such file"));
  CHECK_FALSE(fs::exists(out));
  CHECK_FALSE(fs::exists(out.string() + ".part"));

  for (const char* lines : {"the house\n", "the house\nthe door\nthe end\n"}) {  // only the end shows it
    const StandardInput input(lines);
    const fs::path pair = scratch.write("two", "la maison\nla porte\n");
    CHECK_THAT(error({.file = "-", .output = out, .references = pair}),
               ContainsSubstring(std::string(lines).size() > 20 ? "has 3 lines" : "has 1 lines") &&
                   ContainsSubstring("two' has 2"));
  }
  const StandardInput input("the house\n\xFF\n");
  CHECK_THAT(error({.file = "-", .output = out}), ContainsSubstring("standard input:2: invalid UTF-8"));
  CHECK_FALSE(fs::exists(out));
  CHECK_FALSE(scratch.read("out.part").empty());  // what came before the bad line
  CHECK_THAT(error({.file = scratch.write("in", "the house\n"), .output = out, .references = "-"}),
             ContainsSubstring("--references must name a file"));
}

TEST_CASE("which options go with --translate-file", "[kit]") {
  const auto refusal = [](const std::vector<const char*>& arguments) {
    TranslationSettings settings;
    std::string message;
    bool only = false;
    run_with(
        arguments, [&](Lesson& program) { add_options(program, settings); },
        [&](const Lesson& program, const Options&) {
          message = usage_error([&] { only = only_translates(program); });
        });
    return only ? "translates" : message;
  };
  CHECK(refusal({}) == "(nothing thrown)");
  CHECK(refusal({"--translate", "a"}) == "translates");
  CHECK(refusal({"--translate-file", "-", "--output", "b", "--references", "c"}) == "translates");
  CHECK_THAT(refusal({"--translate-file", "a", "--translate", "b"}), ContainsSubstring("one of them"));
  for (const char* name : {"--output", "--references"})
    CHECK_THAT(refusal({name, "b"}), ContainsSubstring(name) && ContainsSubstring("needs --translate-file"));
}

TEST_CASE("lines that were cut are named by their numbers, in the file and in whatever group", "[kit]") {
  const Scratch scratch;
  const Corpus corpus = tiny_corpus();
  TranslatorConfig config;
  config.embedding = config.hidden = 6;
  const auto model = make_translator(config, corpus.source.size(), corpus.target.size());
  model->initialise(1);
  std::string text;
  for (int line = 1; line <= 1'500; ++line)
    text += (line == 1'204 || line == 1'300 ? std::string(kMostBytesInWord + 1, 'b') : "a b") + "\n";
  int line = 0;
  const auto some_cut_off = [&](std::vector<Translation> some) {
    for (Translation& each : some) {
      ++line;
      each.cut_off = line == 1'333 || line == 1'444;
    }
    return some;
  };
  std::string said;
  {
    const Printed printed(STDERR_FILENO);
    translate_file(*model, corpus.source, corpus.target,
                   {.file = scratch.write("in", text), .output = scratch.path("out")}, {.max_length = 2},
                   some_cut_off);
    said = printed.text();
  }
  const std::string in = scratch.path("in").string();
  CHECK(said == in +
                    ":1204 and 1 more line have more than 500 words or pieces, or one word of more than 500 "
                    "bytes: only the beginning is translated\n" +
                    in + ":1333 and 1 more: the translation was cut off after 2 words or pieces\n");
}

}  // namespace tapestry::kit
