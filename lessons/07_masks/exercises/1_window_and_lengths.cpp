// 7.1 window_and_lengths: two masks at once, for all heads
// implement, 10 minutes
//
// A batch of texts is filled up to T tokens; text b has lengths[b] of them, and the rest is padding. Query i
// may see itself and the `window` − 1 tokens before it, and no padding.
//
// Write the mask for scores (B, H, T, T) of H heads: it is (B, 1, T, T), so that every head gets the same,
// and true means "may attend". lengths.mask(T) is (B, 1, T); Mask::from(T, T, f) asks f(i, j) for each query
// i and key j; mask.unsqueeze(axis) adds an axis.
#include "lessons/grader/answer.hpp"

Mask window_and_lengths(const ValidLengths& lengths, Size time, Size window) {
  //[ two or three lines
  //: return not_written_yet();
  const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j > i - window; });
  return lengths.mask(time).unsqueeze(1) & near;  // (B, 1, 1, T) & (T, T): both must allow
  //]
}

// hint: Which of the two rules depends on the text b, and which on the query i? What are the shapes of their
//   masks?
// hint: near allows j <= i && j > i - ____, and the two masks are joined by & or by |: which one asks both?
// hint: lengths.mask(time).unsqueeze(__) is (B, 1, 1, T) and broadcasts with (T, T) to (B, 1, T, T).
//
// wrong: The window is one too wide: it holds `window` tokens before the query, and the query. With a window
//   of 1 a token should see itself alone.
// - const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j > i - window; });
// + const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j >= i - window; });
// wrong: The future is open: nothing says j ≤ i. A model that is trained so reads the answer in its input.
// - const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j > i - window; });
// + const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j > i - window; });
// wrong: The window reaches to both sides of the query. The tokens after it are the future: nothing says j ≤ i.
// - const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j > i - window; });
// + const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j < i + window && j > i - window; });
// wrong: The window looks ahead: query and key are exchanged. i is the query, a row, and j the key, a column.
// - const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j > i - window; });
// + const Mask near = Mask::from(time, time, [&](Size j, Size i) { return j <= i && j > i - window; });
// wrong: With | one of the two is enough, so padding is seen inside the window, and all real tokens outside
//   it. A pair must be allowed by both.
// - return lengths.mask(time).unsqueeze(1) & near;
// + return lengths.mask(time).unsqueeze(1) | near;
// wrong: The mask is (B, T, T). Beside scores (B, H, T, T) its first axis meets the heads: an error if you
//   are lucky, and with as many heads as texts each head masks by the length of another text.
// - return lengths.mask(time).unsqueeze(1) & near;
// + return lengths.mask(time) & near;
// wrong: You hide rows, the queries: padding has to be hidden as a key, in the columns.
// - return lengths.mask(time).unsqueeze(1) & near;
// + return lengths.mask(time).unsqueeze(-1) & near;
// wrong: The window is forgotten: a query sees all real tokens up to itself.
// - const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j > i - window; });
// + const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i; });
// wrong: The mask is inverted: it is true where a key is hidden. True means "may attend".
// - return lengths.mask(time).unsqueeze(1) & near;
// + return !(lengths.mask(time).unsqueeze(1) & near);
// wrong: The lengths are forgotten: queries see padding.
// - return lengths.mask(time).unsqueeze(1) & near;
// + return near.unsqueeze(0).unsqueeze(0).expand({lengths.shape()[0], 1, time, time});

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The rule, pair by pair.
Mask by_loops(const std::vector<Size>& lengths, Size time, Size window) {
  const auto batch = static_cast<Size>(lengths.size());
  const Mask flat = Mask::from(batch * time, time, [&](Size row, Size key) {
    const Size query = row % time, back = query - key;
    return back >= 0 && back < window && key < lengths[static_cast<std::size_t>(row / time)];
  });
  return flat.reshape({batch, 1, time, time});
}

}  // namespace

void judge(Judge& judge) {
  const std::string kMask = "the mask (a row is a query's, ■ may attend)";
  judge.claim("lets two texts of 4 and 2 tokens see two tokens each", [&] {
    judge.example("lengths 4 and 2, filled up to T = 4, a window of 2");
    judge.same(window_and_lengths({4, 2}, 4, 2), by_loops({4, 2}, 4, 2), kMask);
  });
  judge.claim("does so for any lengths and windows, and for texts of nothing", [&] {
    judge.each_size({{"texts", 1, 4}, {"T", 1, 6}, {"window", 1, 7}}, [&](const Sizes& n) {
      std::vector<Size> lengths;
      for (Size b = 0; b < n[0]; ++b) lengths.push_back(judge.random().between(0, n[1]));
      judge.same(window_and_lengths(ValidLengths(lengths), n[1], n[2]), by_loops(lengths, n[1], n[2]), kMask);
    });
  });
}
