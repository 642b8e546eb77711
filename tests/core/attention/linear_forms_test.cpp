// The forms of linear attention give the same: chunks of any size, token by token, and a text in two parts.
#include <algorithm>

#include "core/attention/linear_attend.hpp"
#include "core/simd/runtime/memory.hpp"
#include "tests/core/attention/recurrence.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using namespace tapestry::recurrence;

namespace {

/// Words [begin, end) of a text of one row, which begins with this state.
Text part_of(const Text& x, Size begin, Size end, const Numbers& state) {
  Text part = x;
  part.words = end - begin;
  const auto cut = [&](Numbers& all, Size width) {
    if (!all.empty()) all = Numbers(all.begin() + begin * width, all.begin() + end * width);
  };
  cut(part.q, x.d), cut(part.k, x.d), cut(part.v, x.e), cut(part.d_output, x.e);
  cut(part.log_decay, 1), cut(part.beta, 1);
  part.state = state;
  return part;
}

}  // namespace

TEST_CASE("linear attention is what its formulas say in chunks of any size, and token by token", "[linear]") {
  for (int kind = 0; kind < 16; ++kind)
    for (const Size words : {1, 2, 5, 9, 33}) {
      CAPTURE(kind, words);
      const Text x = draw(kind, 2, words, 3, 4);
      const Found expected = on_paper(x);
      check_near(by_kernel(x, DType::f64, 0, false, true), expected, 1e-12);
      for (const Size chunk : {1, 2, 3, 4, 7, 1000}) {
        CAPTURE(chunk);
        check_near(by_kernel(x, DType::f64, chunk), expected, 1e-12);
      }
    }
}

TEST_CASE("a text may come in two parts, and no word sees a later one", "[linear]") {
  for (int kind = 0; kind < 16; ++kind)
    for (const bool by_token : {false, true}) {
      CAPTURE(kind, by_token);
      const Text x = draw(kind, 1, 11, 3, 4);
      const auto run = [&](const Text& text) { return by_kernel(text, DType::f64, 4, false, by_token); };
      const Found whole = run(x), first = run(part_of(x, 0, 6, x.state)),
                  second = run(part_of(x, 6, 11, first.last));
      Numbers read = first.output;
      read.insert(read.end(), second.output.begin(), second.output.end());
      CHECK(apart(read, whole.output) < 1e-12);
      CHECK(apart(second.last, whole.last) < 1e-12);
    }
}

TEST_CASE("the delta rule stays exact in f32 where all keys are alike, and in long texts", "[linear]") {
  for (const bool alike : {false, true}) {
    Text x = draw(8, 1, 400, 16, 8);
    for (std::size_t i = 16; i < x.k.size() && alike; ++i) x.k[i] = x.k[i - 16];
    const Found expected = on_paper(x);
    for (const Size chunk : {32, 64, 400}) {
      CAPTURE(alike, chunk);
      CHECK(apart(by_kernel(x, DType::f32, chunk).output, expected.output) < 1e-5);
    }
  }
}

TEST_CASE("what linear attention keeps grows with the text, not with its square", "[linear]") {
  for (const WriteRule rule : {WriteRule::sum, WriteRule::delta}) {
    const auto kept = [rule](Size words) {
      const Tensor q = variable(random_normal({words, 8}, 1)),
                   k = variable(random_normal({words, 8}, 2) * 0.3);
      const Size before = simd::pool_stats().in_use;
      Tape tape;
      const LinearAttendResult found = linear_attend(q, k, q, {.rule = rule}, 16);
      return static_cast<double>(simd::pool_stats().in_use - before);
    };
    CHECK(kept(2048) < 2.2 * kept(1024));
  }
}

TEST_CASE("token by token, too, linear attention says what does not fit", "[linear]") {
  using Catch::Matchers::ContainsSubstring;
  const auto told = [](const Tensor& v, const LinearAttendOptions& options) {
    return test::message_of([&] { linear_attend_by_token(zeros({5, 3}), zeros({5, 3}), v, options); });
  };
  CHECK_THAT(told(zeros({4, 3}), {}), ContainsSubstring("must have shapes"));
  CHECK_THAT(told(zeros({5, 3}), {.beta = zeros({5, 1})}), ContainsSubstring("one number for each token"));
  CHECK_THAT(told(zeros({5, 3}, DType::f64), {}), ContainsSubstring("must have the same dtype"));
}
