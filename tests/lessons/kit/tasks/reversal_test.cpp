// The strings of lessons 10 and 11.
#include "lessons/kit/tasks/reversal.hpp"

#include <set>

#include "core/core.hpp"
#include "nn/seq2seq/translator.hpp"
#include "tests/catch.hpp"

namespace tapestry::kit {

TEST_CASE("a string's target is the string backwards, between start and end", "[kit]") {
  const Strings strings = draw_strings(Random(1, 2), 200);
  std::set<Size> lengths;
  for (Size row = 0; row < 200; ++row) {
    const Size letters = strings.sources.lengths[static_cast<std::size_t>(row)] - 1;
    lengths.insert(letters);
    REQUIRE(strings.targets.lengths[static_cast<std::size_t>(row)] == letters + 2);
    CHECK(strings.sources.at(row, letters) == kEnd);
    CHECK(strings.targets.at(row, 0) == kStart);
    CHECK(strings.targets.at(row, letters + 1) == kEnd);
    for (Size i = 0; i < letters; ++i) {
      const std::int64_t letter = strings.sources.at(row, i);
      CHECK((letter > kEnd && letter < alphabet().size()));
      CHECK(strings.targets.at(row, letters - i) == letter);
    }
  }
  CHECK(*lengths.begin() == kShortestString);
  CHECK(*lengths.rbegin() == kLongestString);
  CHECK(draw_strings(Random(1, 2), 5, 7, 7).sources.columns == 8);
}

TEST_CASE("test strings are of one length, and others for another seed", "[kit]") {
  const Strings strings = test_strings(3, 40, 9);
  CHECK(strings.sources.rows == 40);
  for (const std::int64_t length : strings.sources.lengths) CHECK(length == 10);
  CHECK(test_strings(4, 40, 9).sources.ids != strings.sources.ids);
}

TEST_CASE("free writing feeds back the likeliest symbol", "[kit]") {
  PlainTranslator model({{.vocabulary = alphabet().size(), .embedding = 5, .hidden = 4},
                         {.vocabulary = alphabet().size(), .embedding = 5, .hidden = 4, .readout = 6}});
  model.initialise(2);
  for (Tensor weight : model.decoder.parameters())
    assign(weight, 4.0 * weight.detach());  // so that words matter
  const Strings strings = test_strings(1, 3, 6);
  const Encoded source = model.encoder(Indices(strings.sources.ids, {3, 7}));
  const Indices written = write_freely(model.decoder, source, 5);
  REQUIRE(written.shape() == Dims{3, 5});
  CHECK(written.column(0).to_vector() != written.column(4).to_vector());
  // Fed what it wrote, under teacher forcing, it says the same again.
  Ids fed;
  for (Size row = 0; row < 3; ++row)
    for (Size t = 0; t < 5; ++t)
      fed.push_back(t == 0 ? kStart : written.to_vector()[static_cast<std::size_t>(5 * row + t - 1)]);
  CHECK(argmax(model.decoder(Indices(fed, {3, 5}), source)).to_vector() == written.to_vector());
}

}  // namespace tapestry::kit
