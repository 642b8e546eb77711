// The measurements of lesson 36: windows, the loss at each position, and the weight of the first token.
#include <cmath>
#include <numeric>

#include "core/core.hpp"
#include "lessons/36_long/measure.hpp"
#include "tests/catch.hpp"

using namespace tapestry;
using namespace tapestry::lesson36;

namespace {

constexpr Size kDifferent = 5;

/// A text of `size` tokens.
Ids squares(Size size) {
  Ids ids;
  for (Size i = 0; i < size; ++i) ids.push_back((i * i + 3 * i) % 7 % kDifferent);
  return ids;
}

}  // namespace

TEST_CASE("windows of 512 tokens begin every 256 tokens, and targets are one token later", "[36]") {
  CHECK(long_windows(squares(kLong), 9).inputs.shape()[0] == 0);
  CHECK(long_windows(squares(kLong + 1), 9).inputs.shape()[0] == 1);
  CHECK(long_windows(squares(kLong + kLong / 2), 9).inputs.shape()[0] == 1);
  CHECK(long_windows(squares(4 * kLong), 2).inputs.shape()[0] == 2);
  const Ids text = squares(kLong + kLong / 2 + 1);
  const kit::Windows windows = long_windows(text, 9);
  REQUIRE(windows.inputs.shape() == Dims{2, kLong});
  const auto inputs = windows.inputs.to_vector(), targets = windows.targets.to_vector();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t place = i % kLong + i / kLong * (kLong / 2);
    REQUIRE(inputs[i] == text[place]);
    REQUIRE(targets[i] == text[place + 1]);
  }
}

TEST_CASE("the loss at a position is the mean over the windows", "[36]") {
  LanguageModel model(model_options({}, kDifferent));
  model.initialise(3);
  const kit::Windows windows = long_windows(squares(kLong + kLong / 2 + 1), 2);
  const std::vector<double> losses = loss_by_position(model, windows);
  REQUIRE(losses.size() == kLong);
  const std::vector<double> logits = model(windows.inputs).to_vector();
  const auto targets = windows.targets.to_vector();
  for (const std::size_t place : std::vector<std::size_t>{0, 1, 64, 511}) {
    double expected = 0;
    for (const std::size_t row : {place, place + kLong}) {
      double sum = 0;
      for (std::size_t c = 0; c < kDifferent; ++c) sum += std::exp(logits[row * kDifferent + c]);
      expected += (std::log(sum) - logits[row * kDifferent + static_cast<std::size_t>(targets[row])]) / 2;
    }
    CHECK(std::abs(losses[place] - expected) < 1e-5);
  }
}

TEST_CASE("a mean between two positions leaves out the second", "[36]") {
  CHECK(mean_between({1, 2, 4, 8}, 1, 3) == 3);
  CHECK(mean_between({1, 2, 4, 8}, 0, 4) == 3.75);
}

TEST_CASE("the weight of the first token follows the window, the sinks and the range of queries", "[36]") {
  const kit::Windows windows = long_windows(squares(kLong + 1), 1);
  const auto weight = [&](Size window, Size sinks, Size from, Size to) {
    LanguageModel model(model_options({.window = window, .sink_tokens = sinks}, kDifferent));
    model.initialise(3);
    const std::vector<double> layers = first_token_weight(model, windows, from, to);
    REQUIRE(layers.size() == 2);
    CHECK((layers[0] == layers[1]) == (layers[0] == 0 || layers[0] == 1));
    return layers[0];
  };
  CHECK(weight(0, 0, 0, 1) == 1);  // the first query sees no other key
  CHECK(weight(8, 0, 7, 8) > 0);
  CHECK(weight(8, 0, 8, kLong) == 0);
  CHECK(weight(8, 1, 8, kLong) > 0.05);  // one of nine keys
  const double both = weight(0, 0, 0, 2), first = weight(0, 0, 0, 1), second = weight(0, 0, 1, 2);
  CHECK(std::abs(both - (first + second) / 2) < 1e-6);
}
