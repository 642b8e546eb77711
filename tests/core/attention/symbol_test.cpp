// A formula's numbers as tensors: what a comparison takes, and what it refuses.
#include "core/attention/symbol.hpp"

#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<double> pairs(const Mask& mask, DType dtype) {
  return where(mask, ones({2}, dtype), zeros({2}, dtype)).to_vector();
}

}  // namespace

TEST_CASE("symbol: a plain number is compared in the type of what stands beside it", "[attend]") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Symbol x = Symbol::from(tensor({0.25, 0.75}, dtype));
    const std::vector<double> first{1, 0}, second{0, 1};
    CHECK(pairs(x < 0.5, dtype) == first);
    CHECK(pairs(x > 0.5, dtype) == second);
    CHECK(pairs(0.5 < x, dtype) == second);
    CHECK(pairs(x <= 0.25, dtype) == first);
    CHECK(pairs(x >= 0.75, dtype) == second);
    CHECK(pairs(x == 0.75, dtype) == second);
    CHECK(pairs(x != 0.75, dtype) == first);
  }
}

TEST_CASE("symbol: tensors of two types are not compared", "[attend]") {
  const Symbol narrow = Symbol::from(tensor({0.25, 0.75}, DType::f32)),
               wide = Symbol::from(tensor({0.25, 0.75}, DType::f64));
  CHECK_THAT(test::message_of([&] { (void)(narrow < wide); }), ContainsSubstring("f32 and f64"));
  CHECK_THAT(test::message_of([&] { (void)(wide < narrow); }), ContainsSubstring("f64 and f32"));
}
