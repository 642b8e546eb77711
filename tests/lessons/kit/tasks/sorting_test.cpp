// Digits to sort, and which are held out.
#include "lessons/kit/tasks/sorting.hpp"

#include <algorithm>

#include "tests/catch.hpp"

using namespace tapestry;
using Numbers = std::vector<std::int64_t>;

TEST_CASE("the answer begins to be written at the equals sign") {
  const kit::NextTokens rows = kit::sorting({{3, 1, 2}, {5, 0, 5}});
  CHECK(rows.inputs.shape() == Dims{2, 6});
  CHECK(rows.inputs.to_vector() == Numbers{3, 1, 2, kit::kEquals, 1, 2, 5, 0, 5, kit::kEquals, 0, 5});
  CHECK(rows.targets.to_vector() == Numbers{-1, -1, -1, 1, 2, 3, -1, -1, -1, 0, 5, 5});
  CHECK_THROWS_AS(kit::sorting({{1, 2}, {}}), Error);
}

TEST_CASE("the equals sign is no digit") {
  CHECK(kit::kEquals > 9);
  CHECK(kit::kEquals < kit::kSortSymbols);
}

TEST_CASE("a shorter string is filled up with what counts nothing") {
  const kit::NextTokens rows = kit::sorting({{3, 1, 2}, {9, 4}});
  CHECK(rows.inputs.to_vector() ==
        Numbers{3, 1, 2, kit::kEquals, 1, 2, 9, 4, kit::kEquals, 4, kit::kEquals, kit::kEquals});
  CHECK(rows.targets.to_vector() == Numbers{-1, -1, -1, 1, 2, 3, -1, -1, 4, 9, -1, -1});
}

TEST_CASE("strings of all lengths come") {
  const Numbers targets = kit::draw_sorting(kit::Random(3), 100, 4, 6, false).targets.to_vector();
  std::vector<int> of_length(7, 0);
  for (std::size_t row = 0; row < 100; ++row) {
    const auto at = targets.begin() + static_cast<std::ptrdiff_t>(row * 12);
    ++of_length[12 - static_cast<std::size_t>(std::count(at, at + 12, -1))];
  }
  CHECK(of_length[4] + of_length[5] + of_length[6] == 100);
  for (const std::size_t digits : {4U, 5U, 6U}) CHECK(of_length[digits] > 15);
}

TEST_CASE("what is held out is never drawn for training") {
  for (const bool from_held_out : {false, true}) {
    const kit::NextTokens rows = kit::draw_sorting(kit::Random(1, 2), 200, 5, 5, from_held_out);
    const Numbers targets = rows.targets.to_vector(), inputs = rows.inputs.to_vector();
    for (std::size_t row = 0; row < 200; ++row) {
      const auto at = static_cast<std::ptrdiff_t>(row * 10);
      const Numbers answer(targets.begin() + at + 5, targets.begin() + at + 10);
      Numbers digits(inputs.begin() + at, inputs.begin() + at + 5);
      std::sort(digits.begin(), digits.end());
      CHECK(answer == digits);
      CHECK(kit::held_out(answer) == from_held_out);
    }
  }
}
