// 20.2 top_p: draw from the fewest tokens whose shares reach p
// implement, 15 minutes
//
// Top-p keeps the fewest tokens, the likeliest first, whose shares together are p or more; the others get 0,
// and those that were kept are divided by their sum so that they add up to 1 again. Write it for the shares
// of V tokens, which add up to 1 and stand in the order of the vocabulary, not sorted; the result has the
// same order. 0 < p ≤ 1. Where the last place is between equal shares, any of them may have it.
//
// For example, (0.125, 0.5, 0.25, 0.125) with p = 0.6 becomes (0, 2/3, 1/3, 0).
#include "lessons/grader/answer.hpp"

std::vector<double> keep_top_p(const std::vector<double>& shares, double p) {
  //[ about ten lines
  //: return not_written_yet();
  std::vector<std::size_t> order(shares.size());  // of the tokens, the likeliest first
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  std::vector<double> kept(shares.size(), 0.0);
  double reached = 0;
  for (const std::size_t token : order) {
    if (reached >= p) break;  // those before are enough
    kept[token] = shares[token];
    reached += shares[token];
  }
  for (double& share : kept) share /= reached;
  return kept;
  //]
}

// hint: In which order do you go through the tokens, and how do you remember where each one stands in the
//   vocabulary?
// hint: Sort the numbers of the tokens, std::sort(order.begin(), order.end(), by shares). A token is kept if
//   those before it have not yet reached ____.
// hint: Stop when `reached >= p`, before you take the next one; divide by `reached` at the end.
//
// wrong: You cut before the token with which p is reached. Its share belongs to it: without it the rest has
//   less than p, and where the likeliest alone has more than p nothing is left: 0 / 0.
// - if (reached >= p) break;
// + if (reached + shares[token] > p) break;
// wrong: What is kept does not add up to 1. Divide it by its sum.
// - for (double& share : kept) share /= reached;
// + for (double& share : kept) share /= 1;
// wrong: You divide by p. What was kept adds up to p or more: divide it by its own sum.
// - for (double& share : kept) share /= reached;
// + for (double& share : kept) share /= p;
// wrong: All tokens whose share is equal to the last one's are kept. The fewest are asked for: the cut is
//   behind so many tokens, not below a share.
// - if (reached >= p) break;
// + if (reached >= p && std::find(kept.begin(), kept.end(), shares[token]) == kept.end()) break;
// wrong: You go through the tokens in the order of the vocabulary. Top-p begins with the likeliest.
// - std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
// + const std::vector<double>& sorted = shares;
// + static_cast<void>(sorted);
// wrong: The result is sorted: the first number belongs to the likeliest token and not to token 0. Whoever
//   draws from it draws other tokens.
// - std::vector<double> kept(shares.size(), 0.0);
// - double reached = 0;
// - for (const std::size_t token : order) {
// - if (reached >= p) break;
// - kept[token] = shares[token];
// + std::vector<double> kept(shares.size(), 0.0);
// + double reached = 0;
// + std::size_t next = 0;
// + for (const std::size_t token : order) {
// + if (reached >= p) break;
// + kept[next++] = shares[token];
// wrong: You begin with the unlikeliest tokens.
// - std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
// + std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return shares[a] < shares[b]; });
// wrong: Where the shares are exactly p you take one more token. They have reached p: the fewest that do so
//   are asked for.
// - if (reached >= p) break;
// + if (reached > p) break;
// wrong: You keep the tokens whose own share is p or more. p is for the sum of shares: with many tokens of
//   small shares none would be left.
// - if (reached >= p) break;
// + if (shares[token] < p) break;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Token by token: it stays if those that are likelier do not reach p.
std::vector<double> by_definition(const std::vector<double>& shares, double p) {
  std::vector<double> kept;
  double sum = 0;
  for (const double share : shares) {
    double likelier = 0;
    for (const double other : shares) likelier += other > share ? other : 0;
    kept.push_back(likelier < p ? share : 0);
    sum += kept.back();
  }
  for (double& share : kept) share /= sum;
  return kept;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("keeps the fewest tokens that reach p, in the order of the vocabulary", [&] {
    judge.example("the shares 0.125, 0.5, 0.25, 0.125 with p = 0.6");
    judge.same(keep_top_p({0.125, 0.5, 0.25, 0.125}, 0.6), {0, 2 / 3.0, 1 / 3.0, 0}, "the new shares");
  });
  judge.claim("stops as soon as p is reached", [&] {
    judge.example("the shares 0.125, 0.5, 0.25, 0.125 with p = 0.75");
    judge.same(keep_top_p({0.125, 0.5, 0.25, 0.125}, 0.75), {0, 2 / 3.0, 1 / 3.0, 0}, "the new shares");
    judge.example("the shares 0.25, 0.75 with p = 0.1");
    judge.same(keep_top_p({0.25, 0.75}, 0.1), {0, 1}, "the new shares");
    judge.example("the shares 0.25, 0.75 with p = 1");
    judge.same(keep_top_p({0.25, 0.75}, 1), {0.25, 0.75}, "the new shares");
  });
  judge.claim("keeps no more than it needs of tokens that are equally likely", [&] {
    judge.example(
        "the shares 0.125, 0.5, 0.25, 0.125 with p = 0.8; token 0 may also be kept in place of token 3");
    const std::vector<double> came = keep_top_p({0.125, 0.5, 0.25, 0.125}, 0.8);
    const std::vector<double> first = {1 / 7.0, 4 / 7.0, 2 / 7.0, 0}, last = {0, 4 / 7.0, 2 / 7.0, 1 / 7.0};
    judge.same(came, came.size() == 4 && came[3] == 0 ? first : last, "the new shares");
    judge.example("64 tokens with equal shares and p = 0.5");
    std::vector<double> half = keep_top_p(std::vector<double>(64, 1 / 64.0), 0.5), wanted(64, 0.0);
    std::fill(wanted.begin() + 32, wanted.end(), 1 / 32.0);
    std::sort(half.begin(), half.end());
    judge.same(half, wanted, "the new shares, the smallest first");
  });
  judge.claim("does so for any shares and any p", [&] {
    judge.each_size({{"tokens", 1, 12}}, [&](const Sizes& n) {
      std::vector<double> shares;
      double sum = 0;
      for (Size i = 0; i < n[0]; ++i) {
        shares.push_back(judge.random().uniform(0.01, 1));
        sum += shares.back();
      }
      for (double& share : shares) share /= sum;
      for (const double p : {0.05, judge.random().uniform(0.1, 0.5), judge.random().uniform(0.5, 0.9), 0.97})
        judge.same(keep_top_p(shares, p), by_definition(shares, p), "the new shares");
    });
  });
}
