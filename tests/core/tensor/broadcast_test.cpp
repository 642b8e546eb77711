// What broadcasts to what, told by sizes written down and by reading every element.
#include "core/tensor/broadcast.hpp"

#include "core/ops/ops.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/layout.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;

TEST_CASE("two shapes broadcast to one, or tell the last axis that clashes") {
  CHECK(joint_shape({2, 1, 4}, {3, 1}).shape == Dims{2, 3, 4});
  CHECK(joint_shape({2, 1, 4}, {3, 1}).clash == 0);
  CHECK(joint_shape({}, {2, 0}).shape == Dims{2, 0});
  CHECK(joint_shape({1}, {0}).shape == Dims{0});
  CHECK(joint_shape({1}, {0}).clash == 0);
  CHECK(joint_shape({2}, {0}).clash == 1);
  CHECK(joint_shape({5, 2, 4}, {6, 3, 4}).clash == 2);  // of two, the last
  CHECK_THAT(message_of([] {
               zeros({5, 2, 4}) + zeros({6, 3, 4});
             }),
             ContainsSubstring("axis -2 has sizes 2 and 3"));
  const std::string cure = "; for a matrix product, write matmul(a, b)";
  CHECK_THAT(message_of([] { zeros({2, 3}) * zeros({3, 4}); }), ContainsSubstring(cure));
  for (const std::string& message : {message_of([] {
                                       zeros({2, 3}) + zeros({3, 4});
                                     }),
                                     message_of([] {
                                       zeros({2, 3}) * zeros({4});
                                     })})
    CHECK(message.find(cure) == std::string::npos);
  CHECK_THAT(message_of([] {
               where(Mask::causal(3, 4), zeros({4}), zeros({2, 4}));
             }),
             ContainsSubstring("axis -2 has sizes 3 and 2"));
  CHECK_THAT(message_of([] {
               matmul(zeros({2, 1, 3, 4}), zeros({3, 1, 4, 5}));
             }),
             ContainsSubstring("leading axes of a (2,1,3,4) and b (3,1,4,5) do not broadcast"));
}

TEST_CASE("one shape broadcasts to another where its sizes are equal or 1") {
  CHECK(broadcasts_to({}, {2, 3}));
  CHECK(broadcasts_to({3}, {2, 3}));
  CHECK(broadcasts_to({2, 1}, {2, 3}));
  CHECK(broadcasts_to({1}, {0}));
  CHECK_FALSE(broadcasts_to({2}, {2, 3}));
  CHECK_FALSE(broadcasts_to({2, 3}, {2, 1}));
  CHECK_FALSE(broadcasts_to({1, 3}, {3}));
  CHECK_FALSE(broadcasts_to({0}, {1}));
}

TEST_CASE("strides of a broadcast read each element where it belongs") {
  // (3, 1) with strides (2, 7), as (2, 3, 4): only the middle axis moves.
  CHECK(broadcast_strides({3, 1}, {2, 7}, {2, 3, 4}) == Dims{0, 2, 0});
  CHECK(broadcast_strides({}, {}, {2, 3}) == Dims{0, 0});
  CHECK(broadcast_strides({4, 3}, {-3, 1}, {4, 3}) == Dims{-3, 1});
  const Tensor column = slice(tensor({{1, 2}, {3, 4}, {5, 6}}), 1, 1, 2);  // 2, 4, 6
  const View<const float> view = broadcast_view<float>(column, {2, 3, 4});
  for (Size i = 0; i < 2; ++i)
    for (Size j = 0; j < 3; ++j)
      for (Size k = 0; k < 4; ++k)
        CHECK(view.data[i * view.stride[0] + j * view.stride[1] + k * view.stride[2]] ==
              2 * static_cast<float>(j + 1));
}

TEST_CASE("a dense copy has the values, and memory of its own") {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  const Tensor copy = dense_copy(transpose(x));
  CHECK(copy.shape() == Dims{3, 2});
  CHECK(copy.strides() == Dims{2, 1});
  CHECK(copy.to_vector() == std::vector<double>{1, 4, 2, 5, 3, 6});
  const Tensor same = dense_copy(x);
  CHECK(same.impl().buffer.get() != x.impl().buffer.get());
  CHECK(same.to_vector() == x.to_vector());
  CHECK(dense_copy(zeros({2, 0})).shape() == Dims{2, 0});
  CHECK(dense_copy(scalar(7, DType::f32)).dtype() == DType::f32);
}
