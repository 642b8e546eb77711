// Tensors: constructors, views, strides, types, assign, and how they are printed.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/arithmetic.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/indices.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;

namespace {

using Values = std::vector<double>;

bool share_memory(const Tensor& a, const Tensor& b) { return a.impl().buffer.get() == b.impl().buffer.get(); }

}  // namespace

TEST_CASE("nested lists") {
  CHECK(tensor({1, 2, 3}).shape() == Dims{3});
  const Tensor m = tensor({{1, 2}, {3, 4}, {5, 6}});
  CHECK(m.shape() == Dims{3, 2});
  CHECK(m.dtype() == DType::f32);
  CHECK(m.to_vector() == Values{1, 2, 3, 4, 5, 6});
  const Tensor blocks = tensor({{{1}, {2}}, {{3}, {4}}, {{5}, {6}}}, DType::f64);
  CHECK(blocks.shape() == Dims{3, 2, 1});
  CHECK(blocks.dtype() == DType::f64);
  CHECK(blocks.at({2, 0, 0}) == 5);
  CHECK_THAT(message_of([] {
               tensor({{1, 2}, {3}});
             }),
             ContainsSubstring("parts of equal shapes, got (2) and (1)"));
  CHECK_THAT(message_of([] { tensor({{{1}, {2}}, {{3}}}); }), ContainsSubstring("got (2,1) and (1,1)"));
  CHECK_THAT(message_of([] {
               tensor(Values{1, 2, 3}, {2, 2});
             }),
             ContainsSubstring("3 values do not fill a tensor of shape (2,2)"));
}

TEST_CASE("named constructors") {
  CHECK(zeros({2, 2}).to_vector() == Values(4, 0));
  CHECK(full({3}, 2.5, DType::f64).to_vector() == Values(3, 2.5));
  CHECK(scalar(4).item() == 4);
  CHECK(scalar(4).rank() == 0);
  CHECK(eye(2).to_vector() == Values{1, 0, 0, 1});
  CHECK(arange(0, 5).to_vector() == Values{0, 1, 2, 3, 4});
  CHECK(arange(0, 1, 0.25, DType::f64).to_vector() == Values{0, 0.25, 0.5, 0.75});
  CHECK(arange(3, 0, -1).to_vector() == Values{3, 2, 1});
  CHECK(arange(3, 0).count() == 0);
  CHECK_THAT(message_of([] { arange(0, 1, 0); }), ContainsSubstring("got a step of 0"));
  CHECK_THAT(message_of([] { zeros({2, -1}); }), ContainsSubstring("must be at least 0, got (2,-1)"));
  CHECK(zeros({0, 3}).count() == 0);
}

TEST_CASE("shapes that no memory holds, and too many axes") {
  constexpr Size kHuge = Size{1} << 62;
  const auto says = [](const auto& f, const char* text) {
    CHECK_THAT(message_of<std::exception>(f), ContainsSubstring(text));
  };
  const char* const too_many = "must have at most 2^43 elements";
  says([] { zeros({kHuge}); }, too_many);
  says([] { zeros({3, 6148914691236517206}); }, too_many);  // 2^64 + 2
  says([] { reshape(zeros({0}), {Size{1} << 32, Size{1} << 32}); }, too_many);
  says([] { expand(zeros({1, 1}), {Size{1} << 40, Size{1} << 40}); }, too_many);
  says([] { arange(0, 1e19); }, too_many);
  says([] { Indices({}, {kHuge, 0, kHuge}); }, too_many);
  says([] { zeros({1, 1, 1, 1, 1, 1, 1}); }, "at most 6 axes, got 7");
  says([] { reshape(zeros({1}), {1, 1, 1, 1, 1, 1, 1, 1}); }, "at most 6 axes, got 8");
  CHECK(zeros({Size{1} << 40, 0}).count() == 0);
  CHECK(slice(arange(0, 5), 0, 0, 3, std::numeric_limits<Size>::max()).to_vector() == Values{0});
  CHECK(slice(arange(0, 5), 0, 2, 2, 3).count() == 0);
}

TEST_CASE("a seventh axis is an error like every other") {
  const auto told = ContainsSubstring("a shape must have at most 6 axes, got 7; merge some with reshape()");
  CHECK_THAT(message_of([] { zeros({1, 1, 1, 1, 1, 1, 1}); }), told);
  const Tensor six = ones({1, 1, 1, 1, 1, 2});
  CHECK_THAT(message_of([&] { reshape(six, {1, 1, 1, 1, 1, 1, 2}); }), told);
  CHECK_THAT(message_of([&] { six.shape().filled(7, 1); }), told);
}

TEST_CASE("uniform numbers stay below their end when they are rounded to f32") {
  // Draw 27,725,546 of seed 1 lies within half a unit in the last place of 1.
  const Tensor x = random_uniform({27725600}, 1);
  const float* const values = x.data<float>();
  CHECK(*std::max_element(values, values + x.count()) < 1.0F);
  const Tensor down = random_uniform({500}, 3, 1, -1);  // the ends may be given the other way round
  CHECK(std::abs(mean(down).item()) < 0.2);
  CHECK(random_uniform({3}, 3, 2, 2).to_vector() == Values{2, 2, 2});
}

TEST_CASE("random values depend on seed and place, and are the same in f32 and f64") {
  const Tensor x = random_normal({1000}, 7, DType::f64), rounded = random_normal({1000}, 7);
  const Values values = x.to_vector();
  const Values narrow = rounded.to_vector();
  double mean = 0, square = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    REQUIRE(narrow[i] == static_cast<double>(static_cast<float>(values[i])));
    mean += values[i] / 1000;
    square += values[i] * values[i] / 1000;
  }
  CHECK(std::abs(mean) < 0.15);
  CHECK(std::abs(square - 1) < 0.2);
  CHECK(random_normal({10, 100}, 7, DType::f64).to_vector() == values);
  CHECK(random_normal({1000}, 8, DType::f64).to_vector() != values);
  for (double u : random_uniform({500}, 3, -2, 5, DType::f64).to_vector()) {
    REQUIRE(u >= -2);
    REQUIRE(u < 5);
  }
}

TEST_CASE("views share memory, and reshape copies only where it must") {
  const Tensor x = arange(0, 24, 1, DType::f64);
  const Tensor m = reshape(x, {2, 3, 4});
  CHECK(share_memory(x, m));
  CHECK(m.strides() == Dims{12, 4, 1});
  const Tensor t = permute(m, {2, 0, 1});
  CHECK(share_memory(x, t));
  CHECK(t.shape() == Dims{4, 2, 3});
  CHECK(t.strides() == Dims{1, 12, 4});
  CHECK(t.at({3, 1, 2}) == 23);
  CHECK(!t.is_contiguous());
  // (4, 2, 3) of strides (1, 12, 4): the last two axes run together, the first does not.
  const Tensor joined = reshape(t, {4, 6});
  CHECK(share_memory(x, joined));
  CHECK(joined.strides() == Dims{1, 4});
  CHECK(joined.to_vector() == t.to_vector());
  const Tensor copied = reshape(t, {8, 3});
  CHECK(!share_memory(x, copied));
  CHECK(copied.to_vector() == t.to_vector());
  CHECK(share_memory(x, reshape(t, {2, 2, 1, 2, 3})));
  CHECK(reshape(t, {2, 2, 1, 2, 3}).to_vector() == t.to_vector());
  // Broadcast axes have stride 0 and can be split, not joined with others.
  const Tensor wide = expand(reshape(arange(0, 3), {3, 1}), {3, 4});
  CHECK(wide.strides() == Dims{1, 0});
  CHECK(reshape(wide, {3, 2, 2}).strides() == Dims{1, 0, 0});
  CHECK(reshape(wide, {12}).to_vector() == Values{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2});
  const Tensor steps = slice(reshape(arange(0, 12), {3, 4}), 1, 0, 4, 2);
  CHECK(steps.strides() == Dims{4, 2});
  CHECK(reshape(steps, {6}).to_vector() == Values{0, 2, 4, 6, 8, 10});
  CHECK(reshape(steps, {6}).strides() == Dims{2});
  CHECK(reshape(steps, {1, 3, 1, 2}).to_vector() == Values{0, 2, 4, 6, 8, 10});
}

TEST_CASE("slices, selections and splits") {
  const Tensor m = reshape(arange(0, 12), {3, 4});
  CHECK(select(m, 0, -1).to_vector() == Values{8, 9, 10, 11});
  CHECK(select(m, 1, 1).to_vector() == Values{1, 5, 9});
  CHECK(slice(slice(m, 0, 1, 3), 1, 1, -1).to_vector() == Values{5, 6, 9, 10});
  const auto parts = split(m, 3, -1);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].shape() == Dims{3, 3});
  CHECK(parts[1].to_vector() == Values{3, 7, 11});
  CHECK(share_memory(parts[1], m));
  CHECK(squeeze(unsqueeze(m, 1), 1).shape() == m.shape());
  CHECK(slice(m, 0, 3, 3).count() == 0);
}

TEST_CASE("reading is checked") {
  const Tensor m = tensor({{1, 2}, {3, 4}});
  CHECK(m.size(-1) == 2);
  CHECK(m.at({1, 0}) == 3);
  CHECK_THAT(message_of([&] { static_cast<void>(m.size(2)); }),
             ContainsSubstring("axis 2 is outside a tensor of shape (2,2)"));
  CHECK_THAT(message_of([&] {
               static_cast<void>(m.at({0, 2}));
             }),
             ContainsSubstring("index 2 on axis 1 is outside shape (2,2)"));
  CHECK_THAT(message_of([&] { static_cast<void>(m.at({0})); }),
             ContainsSubstring("at() needs one index for each axis, got 1 for a tensor of shape (2,2)"));
  CHECK_THAT(message_of([&] { static_cast<void>(m.item()); }),
             ContainsSubstring("item() needs a tensor with one element, got shape (2,2)"));
  CHECK_THAT(message_of([&] { static_cast<void>(m.data<double>()); }),
             ContainsSubstring("the values of (2,2) must be read as f32, got f64; convert them with .to()"));
  CHECK_THAT(message_of([] { static_cast<void>(Tensor().shape()); }),
             ContainsSubstring("got an empty Tensor handle"));
}

TEST_CASE("types do not mix in silence, numbers take the tensor's") {
  const Tensor x = tensor({1, 2}), y = tensor({1, 2}, DType::f64);
  CHECK_THAT(
      message_of([&] { x + y; }),
      ContainsSubstring(
          "[add] operands (2) and (2) must have the same dtype, got f32 and f64; convert one with .to()"));
  CHECK((x * 2.5).dtype() == DType::f32);
  CHECK((2.5 * y).dtype() == DType::f64);
  CHECK((1.0 - y).to_vector() == Values{0, -1});
  CHECK((1.0 / y).to_vector() == Values{1, 0.5});
  CHECK((x.to(DType::f64) + y).to_vector() == Values{2, 4});
  CHECK(share_memory(x.to(DType::f32), x));
  const Tensor w = variable(x);
  Tape tape;
  tape.backward(w.to(DType::f64), y);
  CHECK(w.grad().dtype() == DType::f32);
}

TEST_CASE("assign writes through views, converts, and minds overlap") {
  Tensor m = tensor({{1, 2}, {3, 4}});
  const Tensor other_handle = m;
  Tensor column = select(m, 1, 0);
  assign(column, tensor({7, 8}, DType::f64));
  CHECK(m.to_vector() == Values{7, 2, 8, 4});
  CHECK(other_handle.to_vector() == m.to_vector());
  assign(m, transpose(m));
  CHECK(m.to_vector() == Values{7, 8, 2, 4});
  Tensor tail = arange(0, 5);
  Tensor later = slice(tail, 0, 1, 5);
  assign(later, slice(tail, 0, 0, 4));
  CHECK(tail.to_vector() == Values{0, 0, 1, 2, 3});
  CHECK_THAT(message_of([&] { assign(m, zeros({3})); }),
             ContainsSubstring("[assign] target (2,2) and source (3) must have equal shapes"));
}

TEST_CASE("assign refuses a target whose elements share memory") {
  Tensor place = zeros({1, 3});
  Tensor rows = expand(place, {2, 3});
  CHECK_THAT(message_of([&] {
               assign(rows, tensor({{1, 2, 3}, {4, 5, 6}}));
             }),
             ContainsSubstring("[assign] elements of the target (2,3) share memory"));
  CHECK(place.to_vector() == Values{0, 0, 0});
  Tensor columns = permute(rows, {1, 0});
  CHECK_THAT(message_of([&] { assign(columns, ones({3, 2})); }), ContainsSubstring("share memory"));
  // An axis of one, or none, repeats nothing.
  Tensor once = expand(place, {1, 3});
  assign(once, tensor({{7, 8, 9}}));
  CHECK(place.to_vector() == Values{7, 8, 9});
  Tensor none = expand(zeros({1, 0}), {2, 0});
  assign(none, zeros({2, 0}));
  Tensor square = zeros({3, 3}), turned = permute(slice(square, 1, 0, 2), {1, 0});
  assign(turned, tensor({{1, 2, 3}, {4, 5, 6}}));
  CHECK(square.to_vector() == Values{1, 4, 0, 2, 5, 0, 3, 6, 0});
  Tensor block = zeros({2, 3, 5}), mixed = permute(slice(block, 2, 0, 4), {2, 0, 1});  // strides 1, 15 and 5
  assign(mixed, ones({4, 2, 3}));
  CHECK(sum(block).item() == 24);
}

TEST_CASE("memory that cannot be had is an error with the shape and the bytes") {
  const Dims huge = {Size{1} << 21, Size{1} << 22};  // 2^43 elements: the most that a shape may have
  CHECK_THAT(message_of([&] { zeros(huge, DType::f64); }),
             ContainsSubstring("out of memory: a tensor of shape (2097152,4194304) and dtype f64 needs "
                               "70368744177664 bytes"));
  const Tensor x = ones({2, 2});
  CHECK((x + x).to_vector() == Values{2, 2, 2, 2});
}

TEST_CASE("variables are leaves of their own") {
  const Tensor x = tensor({1, 2});
  const Tensor w = variable(x, "w");
  CHECK(w.requires_grad());
  CHECK(w.name() == "w");
  CHECK(!x.requires_grad());
  CHECK(!w.detach().requires_grad());
  CHECK(describe(w) == "(2) \"w\"");
  const Tensor same = w;  // a handle of the same leaf
  Tape tape;
  tape.backward(same * 1.0, full({2}, 3));
  CHECK(w.grad().to_vector() == Values{3, 3});
}

TEST_CASE("elements behave as IEEE says") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = tensor({-1, 0, 1, inf, -inf, nan, 0.5, 2, -0.0}, dtype);
    const Values quotient = (1.0 / x).to_vector();
    CHECK(quotient[1] == inf);
    CHECK(quotient[3] == 0);
    CHECK(quotient[8] == -inf);
    CHECK(std::isnan(quotient[5]));
    CHECK(std::isnan(sqrt(x).to_vector()[0]));
    CHECK(exp(x).to_vector()[4] == 0);
    CHECK(exp(x).to_vector()[3] == inf);
    CHECK(log(x).to_vector()[1] == -inf);
    CHECK(tanh(x).to_vector()[3] == 1);
    CHECK(sigmoid(x).to_vector()[4] == 0);
    CHECK(std::isnan(relu(x).to_vector()[5]));
    CHECK(std::isnan(maximum(x, zeros({9}, dtype)).to_vector()[5]));
    CHECK(std::isnan(maximum(zeros({9}, dtype), x).to_vector()[5]));
    CHECK(softplus(x).to_vector()[3] == inf);
    CHECK(softplus(x).to_vector()[4] == 0);
  }
}

TEST_CASE("printing") {
  CHECK(to_string(tensor({{1, 2}, {30, 4}})) == "[[ 1,  2],\n [30,  4]]  (2,2) f32");
  CHECK(to_string(tensor({0.5, -1.25}, DType::f64)) == "[ 0.5000, -1.2500]  (2) f64");
  CHECK(to_string(scalar(3)) == "3  () f32");
  CHECK(to_string(zeros({0})) == "[]  (0) f32");
  CHECK(to_string(variable(tensor({1}), "bias")) == "[1]  (1) \"bias\" f32");
  CHECK(to_string(arange(0, 100)) == "[ 0,  1,  2, …, 97, 98, 99]  (100) f32");
  CHECK(to_string(transpose(tensor({{1, 2}, {3, 4}}))) == "[[1, 3],\n [2, 4]]  (2,2) f32");
  CHECK(to_string(Tensor()) == "Tensor()");
  CHECK(to_string(slice(arange(0, 40), 0, 5, 25)) == "[ 5,  6,  7, …, 22, 23, 24]  (20) f32");
  CHECK(to_string(expand(tensor({7}), {Size{1} << 42})).starts_with("[7, 7, 7, …, 7, 7, 7]"));
  CHECK(to_string(zeros({9, 9, 9, 9, 9, 9})).size() < 1000);
  CHECK(to_string(zeros({12, 12})).find("…") == std::string::npos);
  CHECK(to_string(zeros({10, 10, 11})).find("…") != std::string::npos);
  CHECK(to_string(zeros({10, 10, 10})).find("…") == std::string::npos);
  CHECK(to_string(reshape(arange(0, 4096), {16, 16, 16}))
            .starts_with("[[[   0,    1,    2, …,   13,   14,   15],\n  [  16,"));
  CHECK(to_string(zeros({3, 0, 50})).starts_with("[[],\n [],\n []]"));
  CHECK_THAT(to_string(tensor({1, std::numeric_limits<double>::quiet_NaN()})), ContainsSubstring("nan"));
  CHECK(to_string(Dims{2, 3}) == "(2,3)");
}

TEST_CASE("numbers are printed plain, with four decimals or in scientific form up to the limits of each") {
  const auto text = [](const std::vector<double>& values) {
    const std::string all = to_string(tensor(values, {static_cast<Size>(values.size())}, DType::f64));
    return all.substr(0, all.find(']') + 1);
  };
  CHECK(text({0, -999999999}) == "[         0, -999999999]");
  CHECK(text({1e9}) == "[1.0000e+09]");
  CHECK(text({99999.5}) == "[99999.5000]");
  CHECK(text({100000, 0.5}) == "[1.0000e+05, 5.0000e-01]");
  CHECK(text({-100000.5}) == "[-1.0000e+05]");
  CHECK(text({0.5, 0}) == "[0.5000, 0.0000]");
  CHECK(text({0.005}) == "[0.0050]");
  CHECK(text({0.001, 0.0001}) == "[0.0010, 0.0001]");
  CHECK(text({0.000999, 0}) == "[9.9900e-04, 0.0000e+00]");
  CHECK(text({1000, 0.00006}) == "[1000.0000,    0.0001]");
  CHECK(text({1000.5, 0.0001}) == "[1000.5000,    0.0001]");
  CHECK(text({1000.5, 0.00006}) == "[1.0005e+03, 6.0000e-05]");
  CHECK(text({1000.5, 0, -0.00006}) == "[ 1.0005e+03,  0.0000e+00, -6.0000e-05]");
  CHECK(text(arange(0, 12).to_vector()) == "[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11]");
  CHECK(text(arange(0, 13).to_vector()) == "[ 0,  1,  2, …, 10, 11, 12]");
}

TEST_CASE("axes of size 1 come and go without a copy, on a scalar too") {
  for (const Dims& shape : {Dims{}, Dims{1}, Dims{1, 1, 1, 1, 1, 1}, Dims{3}, Dims{3, 4}, Dims{2, 3, 4}}) {
    const Tensor x = random_normal(shape, 1);
    Dims more = shape;
    while (more.rank() < kMaxRank) {
      more.insert(more.rank() / 2, 1);
      CAPTURE(to_string(shape), to_string(more));
      CHECK(reshape(x, more).data<float>() == x.data<float>());
      CHECK(reshape(reshape(x, more), shape).data<float>() == x.data<float>());
    }
  }
  const Tensor turned = transpose(random_normal({3, 4}, 2));
  CHECK(reshape(turned, {1, 4, 1, 3, 1}).data<float>() == turned.data<float>());
  CHECK(reshape(turned, {1, 4, 1, 3, 1}).to_vector() == turned.to_vector());
}

TEST_CASE("ids are written with their shape") {
  const Indices ids({1, 2, 3, 4}, {2, 2});
  CHECK(ids.shape() == Dims{2, 2});
  CHECK(ids.to_vector() == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(Indices({1, 2}).shape() == Dims{2});
  CHECK(Indices({7}, {}).rank() == 0);
  CHECK_THROWS_AS(Indices({1, 2}, {3}), Error);
}

TEST_CASE("assign() reads a source that overlaps its target first, beyond any block") {
  for (const Size n : {2, 17, 64, 131}) {
    Tensor m = contiguous(random_normal({n, n}, 1));
    const std::vector<double> want = contiguous(transpose(m)).to_vector();
    assign(m, transpose(m));
    CHECK(m.to_vector() == want);
    Tensor line = contiguous(random_normal({n * n}, 2));
    const std::vector<double> before = line.to_vector();
    Tensor later = slice(line, 0, 1, n * n);
    assign(later, slice(line, 0, 0, n * n - 1));
    const std::vector<double> after = line.to_vector();
    CHECK(std::equal(before.begin(), before.end() - 1, after.begin() + 1));
  }
}
