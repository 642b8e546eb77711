// 7.1 window_and_lengths: A mask for a window and lengths
// implement, 10 minutes
//
// A batch of strings is padded to T tokens. String b has lengths[b] tokens (its elements), and the rest is padding.
// Query i may attend to its own position and to the `window` − 1 tokens before it, but never to padding.
//
// Write the mask for scores (B, H, T, T) with H heads. Give it the shape (B, 1, T, T), so that all heads share it. True
// means "may attend".
//
// lengths.mask(T) has the shape (B, 1, T). Mask::from(T, T, f) calls f(i, j) for each query i and key j.
// mask.unsqueeze(axis) adds an axis.
#include "lessons/grader/answer.hpp"

Mask window_and_lengths(const ValidLengths& lengths, Size time, Size window) {
  //[ two or three lines
  //: return not_written_yet();
  const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j > i - window; });
  return lengths.mask(time).unsqueeze(1) & near;  // (B, 1, 1, T) & (T, T): both must allow
  //]
}

// hint: Which of the two rules depends on the string b, and which on the query i? What are the shapes of their masks?
// hint: near allows j <= i && j > i - ____. Which of & and | demands that both masks allow a pair?
// hint: lengths.mask(time).unsqueeze(__) has the shape (B, 1, 1, T). It broadcasts with (T, T) to (B, 1, T, T).
//
// wrong: The window is one too wide. It has `window` tokens before the query and the query's own token. With a window
//   of 1, a token should attend to itself only.
// - const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j > i - window; });
// + const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j >= i - window; });
// wrong: The condition j ≤ i is missing, so queries attend to later tokens. A model trained with this mask copies the
//   answer from its input.
// - const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j > i - window; });
// + const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j > i - window; });
// wrong: The window extends to both sides of the query. Tokens after the query are the future: demand j ≤ i.
// - const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j > i - window; });
// + const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j < i + window && j > i - window; });
// wrong: The window covers later tokens, because query and key are exchanged. The query i is the row, the key j the
//   column.
// - const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j > i - window; });
// + const Mask near = Mask::from(time, time, [&](Size j, Size i) { return j <= i && j > i - window; });
// wrong: With |, one of the two conditions is enough. Queries attend to padding inside the window, and to all tokens
//   outside it. A pair must meet both conditions.
// - return lengths.mask(time).unsqueeze(1) & near;
// + return lengths.mask(time).unsqueeze(1) | near;
// wrong: The mask has the shape (B, T, T). Broadcast to scores (B, H, T, T), its first axis is matched with the heads.
//   That is an error if you are lucky. If there are as many heads as strings, each head uses the length of another
//   string.
// - return lengths.mask(time).unsqueeze(1) & near;
// + return lengths.mask(time) & near;
// wrong: You hide rows, which are the queries. Padding must be hidden as a key, in the columns.
// - return lengths.mask(time).unsqueeze(1) & near;
// + return lengths.mask(time).unsqueeze(-1) & near;
// wrong: The window is missing. A query attends to all tokens up to its own.
// - const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i && j > i - window; });
// + const Mask near = Mask::from(time, time, [&](Size i, Size j) { return j <= i; });
// wrong: The mask is inverted: it is true where a key is hidden. True must mean "may attend".
// - return lengths.mask(time).unsqueeze(1) & near;
// + return !(lengths.mask(time).unsqueeze(1) & near);
// wrong: The lengths are missing, so queries attend to padding.
// - return lengths.mask(time).unsqueeze(1) & near;
// + return near.unsqueeze(0).unsqueeze(0).expand({lengths.shape()[0], 1, time, time});

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the rule pair by pair.
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
  const std::string kMask = "the mask (one row per query, ■ may attend)";
  judge.claim("allows two tokens per query in strings of 4 and 2 tokens", [&] {
    judge.example("lengths 4 and 2, padded to T = 4, with a window of 2");
    judge.same(window_and_lengths({4, 2}, 4, 2), by_loops({4, 2}, 4, 2), kMask);
  });
  judge.claim("works for any lengths and windows, and for empty strings", [&] {
    judge.each_size({{"strings", 1, 4}, {"T", 1, 6}, {"window", 1, 7}}, [&](const Sizes& n) {
      std::vector<Size> lengths;
      for (Size b = 0; b < n[0]; ++b) lengths.push_back(judge.random().between(0, n[1]));
      judge.same(window_and_lengths(ValidLengths(lengths), n[1], n[2]), by_loops(lengths, n[1], n[2]), kMask);
    });
  });
}
