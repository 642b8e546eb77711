// A text as characters: its two parts, random windows, and the loss over all of it.
#include "lessons/20_gpt/char_corpus.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/core.hpp"
#include "lessons/20_gpt/train_on_text.hpp"
#include "lessons/kit/program/peak_memory.hpp"
#include "lessons/kit/program/usage_error.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

using namespace tapestry;

TEST_CASE("a text is cut where it stands, nine tenths and one") {
  const kit::Scratch scratch;
  const kit::CharCorpus corpus = kit::read_characters(scratch.write("text.txt", "abcdefghij\nabcdefghijklé"));
  CHECK(corpus.train.size() == 21);  // of 24 characters, one of them two bytes long
  CHECK(corpus.valid.size() == 3);
  CHECK(corpus.characters.decode(corpus.train) == "abcdefghij\nabcdefghij");
  CHECK(corpus.characters.decode(corpus.valid) == "klé");
  CHECK(corpus.hash == hash_of("abcdefghij\nabcdefghijklé"));
  CHECK_THROWS_AS(kit::read_characters(scratch.write("text.txt", "abcdefghij")), kit::UsageError);
  CHECK_THROWS_AS(kit::read_characters(scratch.write("text.txt", "abcdefghij\xff" + std::string(30, 'a'))),
                  Error);
  CHECK_THROWS_AS(kit::read_characters(scratch.folder() / "missing"), Error);
  const std::string nul = std::string("abcdefghij\nabc") + '\0' + std::string(30, 'a');
  CHECK(test::message_of([&] { kit::read_characters(scratch.write("text.txt", nul)); }) ==
        scratch.path("text.txt").string() + ":2: a NUL byte at byte 4 of the line: the file must be text");
}

TEST_CASE("windows come from everywhere, and each target is the character after") {
  Ids text;
  for (std::int64_t i = 0; i < 20; ++i) text.push_back(i);
  std::set<std::int64_t> starts;
  for (std::uint64_t step = 0; step < 100; ++step) {
    const kit::Windows windows = kit::draw_windows(text, kit::Random(1, step), 3, 5);
    REQUIRE(windows.inputs.shape() == Dims{3, 5});
    const Ids in = windows.inputs.to_vector(), out = windows.targets.to_vector();
    for (std::size_t i = 0; i < in.size(); ++i) CHECK(out[i] == in[i] + 1);
    for (std::size_t row = 0; row < 3; ++row) starts.insert(in[5 * row]);
  }
  CHECK(*starts.begin() == 0);
  CHECK(*starts.rbegin() == 14);  // 14 … 18, and 19 after
  CHECK(starts.size() == 15);
  CHECK(kit::draw_windows(text, kit::Random(1, 7), 3, 5).inputs.to_vector() ==
        kit::draw_windows(text, kit::Random(1, 7), 3, 5).inputs.to_vector());
  CHECK_THROWS_AS(kit::draw_windows(text, kit::Random(1), 1, 20), kit::UsageError);
}

TEST_CASE("the loss counts every character but the first, once, in its window") {
  LanguageModel model(
      lesson20::language_model_options({.layers = 1, .heads = 2, .width = 8, .context = 6}, 5));
  model.initialise(3);
  kit::Random random(9);
  Ids text;
  for (int i = 0; i < 33; ++i) text.push_back(random.below(5));
  double sum = 0;
  for (std::ptrdiff_t start = 0; start < 32; start += 6) {  // 6, 6, 6, 6, 6 and 2 characters
    const std::ptrdiff_t length = std::min<std::ptrdiff_t>(6, 32 - start);
    const auto first = text.begin() + start;
    const Indices in(Ids(first, first + length), {1, length}),
        out(Ids(first + 1, first + 1 + length), {1, length});
    sum += cross_entropy(model(in), out, {.reduce = Reduce::sum}).item();
  }
  CHECK(kit::loss_per_character(model, text, 6) == Approx(sum / 32).epsilon(1e-6));
  CHECK(model.training());  // as before
  CHECK(kit::loss_per_character(model, text, 6, 3) != Approx(sum / 32).epsilon(1e-6));
}

TEST_CASE("a table of pairs is counted in the training part, and asked in the other") {
  const std::string text = "abababababababababab";  // 18 to train on, and "ab" to validate with
  const kit::CharCorpus corpus = kit::cut_characters(text, "a text");
  CHECK(corpus.valid == kit::Ids{0, 1});
  CHECK(kit::loss_of_pairs(corpus) == Approx(-std::log((9 + 0.1) / (9 + 0.2))));  // b came after each of 9 a
  CHECK_THROWS_AS(kit::cut_characters("ab", "a text"), kit::UsageError);
}

TEST_CASE("without a file, the text is that of the course, and each part is longer than a context") {
  const kit::CharCorpus course = kit::read_characters_or_course({}, 0.25);
  CHECK(course.valid.size() == (course.train.size() + course.valid.size() + 3) / 4);
  const Size held_out = static_cast<Size>(course.valid.size());
  CHECK_NOTHROW(kit::read_characters_or_course({}, 0.25, held_out - 1));
  CHECK_THROWS_AS(kit::read_characters_or_course({}, 0.25, held_out), kit::UsageError);
}

TEST_CASE("validation of a text with many letters takes bounded memory") {
  constexpr Size kLetters = 60'000, kContext = 64;
  LanguageModel model(
      lesson20::language_model_options({.layers = 1, .heads = 1, .width = 2, .context = kContext}, kLetters));
  model.initialise(3);
  kit::Random random(9);
  Ids text;
  for (Size i = 0; i < 9 * kContext + 1; ++i) text.push_back(random.below(kLetters));
  double sum = 0;
  for (std::ptrdiff_t start = 0; start < 9 * kContext; start += kContext) {
    const auto first = text.begin() + start;
    const Indices in(Ids(first, first + kContext), {1, kContext}),
        out(Ids(first + 1, first + 1 + kContext), {1, kContext});
    sum += cross_entropy(model(in), out, {.reduce = Reduce::sum}).item();
  }
  // Its logits all at once are 138 MB, and a whole text's 4,096 characters 983.
  const double before = kit::peak_memory();
  CHECK(kit::loss_per_character(model, text, kContext) ==
        Approx(sum / static_cast<double>(9 * kContext)).epsilon(1e-6));
  text.resize(4096 + 1, 7);
  kit::loss_per_character(model, text, kContext);
  CHECK(kit::peak_memory() - before < 400);
}
