// The largest of a row, by a plain loop: the first of equals, wherever they stand.
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;

TEST_CASE("argmax is the first of equals, at every length and place") {
  for (const DType dtype : {DType::f32, DType::f64})
    for (Size length = 1; length <= 70; ++length) {
      const Stream stream(3, static_cast<std::uint64_t>(length));
      std::vector<double> values;
      std::vector<std::int64_t> wanted;
      for (std::uint64_t row = 0; row < 12; ++row) {
        std::size_t best = values.size();
        for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(length); ++i) {
          values.push_back(static_cast<double>(stream.below(3, 100 * row + i)) -
                           1);  // few values: many equals
          if (values.back() > values[best]) best = values.size() - 1;
        }
        wanted.push_back(static_cast<std::int64_t>(best) - static_cast<std::int64_t>(row) * length);
      }
      CAPTURE(length);
      CHECK(argmax(tensor(values, {12, length}, dtype)).to_vector() == wanted);
    }
}

TEST_CASE("argmax, less, equal") {
  CHECK(argmax(tensor({{1, 3, 3}, {2, 0, 1}})).to_vector() == std::vector<std::int64_t>{1, 0});
  CHECK_THAT(test::message_of([] { argmax(zeros({2, 0})); }), Catch::Matchers::ContainsSubstring("[argmax]"));
  CHECK(less(tensor({1, 2}), tensor({{2}, {1}})).to_vector() == std::vector<bool>{true, false, false, false});
  CHECK(equal(Indices{1, 2, 1}, 1).to_vector() == std::vector<bool>{true, false, true});
}
