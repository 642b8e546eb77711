// What a judge says of right and wrong values, and that its words survive the way to the grader.
#include "lessons/grader/judge/judge.hpp"

#include <unistd.h>

#include <cmath>
#include <limits>
#include <set>

#include "core/ops/ops.hpp"
#include "core/tensor/create.hpp"
#include "lessons/grader/answer.hpp"
#include "tests/catch.hpp"

namespace tapestry::grader {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Fault fault_of(const std::function<void(Judge&)>& body) {
  Judge judge(1);
  judge.claim("first", [] {});
  judge.claim("second", [&] { body(judge); });
  judge.claim("third", [] { throw std::runtime_error("never tried"); });
  REQUIRE(judge.finding().fault);
  CHECK(judge.finding().right == std::vector<std::string>{"first"});
  CHECK(judge.finding().fault->claim == 1);
  CHECK(judge.finding().fault->title == "second");
  return *judge.finding().fault;
}

}  // namespace

TEST_CASE("the judge names the first row that differs", "[grader]") {
  const Tensor right = tensor({{1, 2, 3}, {4, 5, 6}}, DType::f64);
  const Fault fault = fault_of([&](Judge& judge) {
    judge.example("two rows");
    judge.same(tensor({{1, 2, 3}, {4, 7, 8}}, DType::f64), right, "y");
  });
  CHECK(fault.kind == Fault::Kind::value);
  CHECK(fault.example == "two rows");
  CHECK(fault.what == "y at (1,1)");
  CHECK(fault.expected == "4  5  6");
  CHECK(fault.got == "4  7  8");
  CHECK(fault.behaviour == std::vector<double>{1, 2, 3, 4, 7, 8});
}

TEST_CASE("what is no number is shown as NaN, with either sign", "[grader]") {
  const double nan = std::nan("");
  const Fault fault = fault_of([&](Judge& judge) {
    judge.same({nan, std::copysign(nan, -1.0), -0.0, -kInf}, {1.0, 2.0, 0.0, 4.0}, "row", 1e-9);
  });
  CHECK(fault.got == "NaN  NaN  0  -inf");
  CHECK(fault.expected == "1    2    0  4");  // in the columns of what was got
}

TEST_CASE("of long rows the judge shows the part around the difference", "[grader]") {
  std::vector<double> values(100, 1.0), wrong(100, 1.0);
  wrong[50] = 2;
  const Fault fault = fault_of([&](Judge& judge) { judge.same(wrong, values, "row"); });
  CHECK(fault.what == "row at (50)");
  CHECK(fault.got == "… 1  1  1  1  1  1  2  1  1  1  1  1 …");
}

TEST_CASE("shape and type are looked at before the values", "[grader]") {
  const Tensor x = zeros({2, 3}, DType::f64);
  CHECK(fault_of([&](Judge& judge) {
          judge.same(zeros({3, 2}, DType::f64), x, "y");
        }).kind == Fault::Kind::shape);
  CHECK(fault_of([&](Judge& judge) {
          judge.same(zeros({2, 3}), x, "y");
        }).what.find("got f32") != std::string::npos);
  CHECK(fault_of([&](Judge& judge) { judge.same(Tensor(), x, "y"); }).what.find("is undefined") !=
        std::string::npos);
}

TEST_CASE("close values pass and the next ones do not, infinities and NaN with them", "[grader]") {
  const auto passes = [](double got, double expected, double tolerance) {
    Judge judge(1);
    judge.claim("same", [&] { judge.same(got, expected, "x", tolerance); });
    return !judge.finding().fault;
  };
  CHECK(passes(1 + 0.9e-9, 1, 1e-9));
  CHECK_FALSE(passes(1 + 1.1e-9, 1, 1e-9));
  CHECK(passes(1e6 + 0.9e-3, 1e6, 1e-9));
  CHECK_FALSE(passes(1e6 + 1.1e-3, 1e6, 1e-9));
  CHECK(passes(kInf, kInf, 1e-9));
  CHECK_FALSE(passes(-kInf, kInf, 1e-9));
  CHECK_FALSE(passes(1, kInf, 1e-9));
  CHECK_FALSE(passes(std::nan(""), 1, 1e-9));
  CHECK_FALSE(passes(1, std::nan(""), 1e-9));
  CHECK(passes(std::nan(""), std::nan(""), 1e-9));
  const auto row_passes = [](double infinite_came) {
    Judge judge(1);
    judge.claim("same", [&] { judge.same({1.0, infinite_came}, {2.0, kInf}, "row", 1e-9); });
    return !judge.finding().fault;
  };
  CHECK_FALSE(row_passes(kInf));  // an infinity beside it excuses nothing
}

TEST_CASE("masks, words, bounds, predictions and sentences are judged", "[grader]") {
  const Mask right = Mask::from(2, 2, [](Size i, Size j) { return i == 1 || j == 0; });
  const Mask wrong = Mask::from(2, 2, [](Size, Size j) { return j == 0; });
  const Fault mask = fault_of([&](Judge& judge) { judge.same(wrong, right, "the mask"); });
  CHECK(mask.what == "the mask at (1,1), which should be allowed");
  CHECK(mask.expected == "■■");
  CHECK(mask.got == "■·");
  CHECK(fault_of([](Judge& judge) { judge.same(std::string("ab"), "ac", "w"); }).got == "\"ab\"");
  CHECK(fault_of([](Judge& judge) { judge.between(0.4, 0.5, kInf, "a"); }).expected == "at least 0.5");
  CHECK(fault_of([](Judge& judge) { judge.between(2, 0.5, 1, "a"); }).expected == "0.5 to 1");
  const Fault close = fault_of([](Judge& judge) { judge.same(0.25 + 1e-8, 0.25, "a"); });
  CHECK(close.expected == "0.25");
  CHECK(close.got == "0.25000001");
  CHECK(fault_of([](Judge& judge) { judge.predicted(1572864, 3, "n"); }).what == "n: it is not 1572864");
  const Fault guess = fault_of([](Judge& judge) { judge.predicted(3, 2.302585, "the loss"); });
  CHECK(guess.what == "the loss: it is not 3");
  CHECK(guess.expected.empty());  // the right one is not given away
  CHECK(fault_of([](Judge& judge) { judge.that(false, "no", {1}); }).what == "no");
  CHECK(fault_of([](Judge& judge) { judge.refuses([] {}, "it accepts"); }).what == "it accepts");
  Judge fine(1);
  fine.claim("all", [&] {
    fine.same(right, right, "m");
    fine.between(0.5, 0.5, 1, "b");
    fine.between(1, 0.5, 1, "b");
    fine.predicted(2.3, 2.302585, "p");
    fine.that(true, "t");
    fine.refuses([] { fail("x"); }, "r");
  });
  CHECK_FALSE(fine.finding().fault);
}

TEST_CASE("gradients are judged by differences", "[grader]") {
  const auto twice_wrong = [](const Tensor& x) { return x.detach() * x; };  // one path is cut
  const Fault fault = fault_of([&](Judge& judge) { judge.gradients(twice_wrong, {judge.normal({2, 3})}); });
  CHECK(fault.kind == Fault::Kind::sentence);
  CHECK_FALSE(fault.behaviour.empty());
  CHECK(fault.what.rfind("the gradient of input 1 at [", 0) == 0);
  CHECK(fault.what.find("(a factor: it is 0.5 times the slope everywhere") != std::string::npos);
  Judge fine(1);
  fine.claim("right", [&] { fine.gradients([](const Tensor& x) { return x * x; }, {fine.normal({2, 3})}); });
  CHECK_FALSE(fine.finding().fault);
}

TEST_CASE("what is not written, and what throws, are findings", "[grader]") {
  CHECK(fault_of([](Judge&) { [[maybe_unused]] const Tensor x = not_written_yet(); }).kind ==
        Fault::Kind::not_written);
  const Fault thrown = fault_of([](Judge& judge) {
    judge.example("here");
    fail("[x] no");
  });
  CHECK(thrown.kind == Fault::Kind::exception);
  CHECK(thrown.what == "[x] no");
  CHECK(thrown.example == "here");
}

TEST_CASE("sizes come from small to large, with the extremes", "[grader]") {
  Judge judge(5);
  std::vector<Sizes> seen;
  judge.claim("sizes", [&] {
    judge.each_size({{"a", 1, 4}, {"b", 2, 9}}, [&](const Sizes& n) { seen.push_back(n); },
                    {.larger = false, .f32 = false, .often = false});
  });
  REQUIRE(seen.size() >= 6);
  CHECK(seen.front() == Sizes{1, 2});
  CHECK(seen.back() == Sizes{4, 9});
  CHECK(std::find(seen.begin(), seen.end(), Sizes{4, 2}) != seen.end());
  CHECK(std::find(seen.begin(), seen.end(), Sizes{1, 9}) != seen.end());
  for (std::size_t i = 1; i < seen.size(); ++i)
    CHECK((seen[i - 1][0] + 1) * (seen[i - 1][1] + 1) <= (seen[i][0] + 1) * (seen[i][1] + 1));
}

TEST_CASE("each_size() tries larger sizes, f32 and many calls", "[grader]") {
  const auto finds = [](const std::function<Tensor(const Tensor&)>& answer, const Beyond& beyond = {}) {
    Judge judge(5);
    judge.claim("doubles", [&] {
      judge.each_size(
          {{"rows", 1, 3}, {"columns", 1, 5}},
          [&](const Sizes& n) {
            const Tensor x = judge.normal({n[0], n[1]});
            judge.same(answer(x), x.to(DType::f64) * 2.0, "y");
          },
          beyond);
    });
    return judge.finding();
  };
  const Finding right = finds([](const Tensor& x) { return x * 2.0; });
  CHECK_FALSE(right.fault);
  CHECK(right.tried == std::set<std::string>{"f32", "larger", "often", "several", "single"});
  CHECK(finding_from_json(to_json(right)).tried == right.tried);

  const auto small = [](const Tensor& x) { return x.size(1) > 5 ? x : x * 2.0; };
  const auto few = [](const Tensor& x) { return x.size(0) > 3 ? x : x * 2.0; };
  for (const auto& answer : {std::function<Tensor(const Tensor&)>(small), {few}}) {
    REQUIRE(finds(answer).fault);
    CHECK_FALSE(finds(answer, {.larger = false}).fault);
  }
  CHECK(finds(small).fault->example.find("columns 16") != std::string::npos);

  const auto in_f64_alone = [](const Tensor& x) { return x * scalar(2, DType::f64); };
  CHECK(finds(in_f64_alone).fault->example == "rows 3, columns 5, in f32");
  CHECK(finds(in_f64_alone).fault->kind == Fault::Kind::exception);
  CHECK_FALSE(finds(in_f64_alone, {.f32 = false}).fault);
  const auto wrong_in_f32 = [](const Tensor& x) { return x.dtype() == DType::f32 ? x : x * 2.0; };
  CHECK(finds(wrong_in_f32).fault);

  int calls = 0;
  const auto tires = [&](const Tensor& x) { return ++calls > 100 ? x : x * 2.0; };
  CHECK(finds(tires).fault->example == "rows 1, columns 1, called many times");
  calls = 0;
  CHECK_FALSE(finds(tires, {.often = false}).fault);
}

TEST_CASE("another process has nothing of what an answer keeps in static variables", "[grader]") {
  static std::vector<Tensor> hidden;
  const auto keep = [](const Tensor& x) {
    hidden.push_back(x);
    return full({1}, static_cast<double>(hidden.size() - 1), DType::f64);
  };
  Judge judge(1);
  const Tensor x = judge.normal({3, 4}), here = keep(x), there = judge.elsewhere([&] {
    return keep(judge.normal({2, 2}));
  });
  CHECK(here.item() == 0);
  CHECK(there.item() == 1);
  CHECK(hidden.size() == 1);
  const Tensor same = judge.elsewhere([&] { return x * 2.0; });
  CHECK(same.shape() == x.shape());
  CHECK(same.to_vector() == (x * 2.0).to_vector());
  CHECK(judge.elsewhere([] { return zeros({2, 0}); }).shape() == Dims{2, 0});
  judge.claim("ends", [&] { judge.elsewhere([]() -> Tensor { _exit(3); }); });
  REQUIRE(judge.finding().fault);
  CHECK(judge.finding().fault->what.find("another process") != std::string::npos);
}

TEST_CASE("inputs depend on the seed, are short, and lie in memory in both orders", "[grader]") {
  Judge one(1), again(1), other(2);
  int strided = 0;
  for (int i = 0; i < 12; ++i) {
    const Tensor x = one.normal({3, 4});
    CHECK(x.shape() == Dims{3, 4});
    CHECK(x.dtype() == DType::f64);
    strided += x.is_contiguous() ? 0 : 1;
    CHECK(x.to_vector() == again.normal({3, 4}).to_vector());
    CHECK(x.to_vector() != other.normal({3, 4}).to_vector());
    for (const double value : x.to_vector())
      CHECK(value * 100 == Approx(std::round(value * 100)).margin(1e-9));
  }
  CHECK(strided == 4);
}

TEST_CASE("a finding is read as it was written", "[grader]") {
  Finding finding{7,
                  {"a \"b\" ü", "c"},
                  Fault{Fault::Kind::shape, 3, "t", "e", "w", "x\ny", "z", {1, kInf, -kInf}},
                  0.25,
                  "ms",
                  {"f32"}};
  finding.fault->behaviour.push_back(std::nan(""));
  const Finding read = finding_from_json(to_json(finding));
  CHECK(read.seed == 7);
  CHECK(read.right == finding.right);
  CHECK(read.score == 0.25);
  CHECK(read.unit == "ms");
  REQUIRE(read.fault);
  CHECK(read.fault->like(*finding.fault));
  CHECK(read.fault->title == "t");
  CHECK(read.fault->expected == "x\ny");
  CHECK(read.fault->got == "z");
  CHECK_FALSE(finding_from_json(to_json(Finding{})).fault);
  CHECK_THROWS(finding_from_json("{\"seed\": 1"));
  CHECK_THROWS(finding_from_json("{}"));
}

TEST_CASE("faults are alike if place and numbers are", "[grader]") {
  const Fault fault{Fault::Kind::value, 1, "t", "e", "w", "1", "2", {2, 3}};
  const auto unlike = [&](auto change) {
    Fault other = fault;
    change(other);
    return !fault.like(other);
  };
  CHECK(fault.like(fault));
  CHECK_FALSE(unlike([](Fault& f) { f.behaviour[1] = 3 + 1e-7; }));
  CHECK(unlike([](Fault& f) { f.behaviour[1] = 3.001; }));
  CHECK(unlike([](Fault& f) { f.behaviour[1] = kInf; }));
  CHECK(unlike([](Fault& f) { f.behaviour.pop_back(); }));
  CHECK(unlike([](Fault& f) { f.claim = 0; }));
  CHECK(unlike([](Fault& f) { f.example = "g"; }));
  CHECK(unlike([](Fault& f) { f.what = "v"; }));
  CHECK(unlike([](Fault& f) { f.kind = Fault::Kind::shape; }));
}

}  // namespace tapestry::grader
