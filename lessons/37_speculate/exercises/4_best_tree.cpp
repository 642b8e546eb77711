// 37.4 best_tree: A tree within a budget
// design, 20 minutes
//
// A draft makes a tree of at most 12 guesses, and the target verifies it in one pass. Each token has up to three
// children, the branches 0, 1 and 2. Branch 0 is right with probability 0.55, branch 1 with 0.2 and branch 2 with
// 0.1, whatever came before. So the probability that a guess is accepted is the product of these numbers along its
// path from the text. The mean number of accepted guesses is the sum of these products over the tree. A pass adds
// these guesses and one more token.
//
// Choose the tree. parents()[i] is the number of the guess before guess i, or −1 if guess i follows the text. A
// parent has a smaller number than its children. Of the children of a token, the first in your list is branch 0, the
// second is branch 1, and the third is branch 2.
//
// A chain of 12 guesses adds 2.22 tokens per pass. Your tree must add at least 2.8. More are better, and the grader
// keeps your best tree.
#include "lessons/grader/answer.hpp"

std::vector<Size> parents() {
  //[ at most 12 parents
  //: return {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  return {-1, 0, -1, 1, 2, 0, -1, 3, 5, 4, 1, 6};  // always the most likely path that is still missing
  //]
}

// hint: Which is more likely to be accepted: the seventh token of the chain, or branch 1 after the text?
// hint: The chain's tokens have the probabilities 0.55, 0.30, 0.17, 0.09, 0.05 … Branch 1 after the text has 0.20,
//   and its branch 0 has ____.
// hint: Add one token after another. Always take the token with the largest product among those whose parent is in
//   the tree.
//
// start: This is the chain. Its last tokens are almost never reached.
// wrong: This is the full tree of depth 2 with three branches. Most of its branches are unlikely, and the likely path
//   ends after two guesses.
// - return {-1, 0, -1, 1, 2, 0, -1, 3, 5, 4, 1, 6};
// + return {-1, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2, 2};
// wrong: You made two chains. The second one begins with branch 1, so its later guesses are unlikely.
// - return {-1, 0, -1, 1, 2, 0, -1, 3, 5, 4, 1, 6};
// + return {-1, 0, 1, 2, 3, 4, -1, 6, 7, 8, 9, 10};
// wrong: A token can be accepted only after its parent, so a parent must have a smaller number.
// - return {-1, 0, -1, 1, 2, 0, -1, 3, 5, 4, 1, 6};
// + return {-1, 2, 0, 1};

//= judge
#include "lessons/grader/judge/judge.hpp"

void judge(Judge& judge) {
  constexpr Size kBudget = 12;
  constexpr double kBranches[] = {0.55, 0.2, 0.1}, kLeast = 2.8;
  const std::vector<Size> tree = parents();
  const Size size = static_cast<Size>(tree.size());
  judge.claim("is a tree of at most 12 guesses", [&] {
    judge.that(size <= kBudget, fmt::format("the tree has {} guesses, and at most 12 are allowed", size),
               {static_cast<double>(size)});
    std::vector<Size> children(tree.size() + 1, 0);  // of the text, then of each guess
    for (Size i = 0; i < size; ++i) {
      const Size parent = tree[static_cast<std::size_t>(i)];
      judge.that(parent >= -1 && parent < i, fmt::format("guess {} has the parent {}", i, parent),
                 {static_cast<double>(i), static_cast<double>(parent)});
      judge.that(++children[static_cast<std::size_t>(parent + 1)] <= 3,
                 fmt::format("guess {} is the fourth child of its parent", i), {static_cast<double>(i)});
    }
  });
  judge.claim("adds at least 2.8 tokens per pass", [&] {
    std::vector<double> reached{1};  // the text, then each guess
    std::vector<std::size_t> children(tree.size() + 1, 0);
    double tokens = 1;
    for (const Size parent : tree) {
      const auto before = static_cast<std::size_t>(parent + 1);
      reached.push_back(reached[before] * kBranches[children[before]++]);
      tokens += reached.back();
    }
    judge.that(tokens >= kLeast, fmt::format("the tree adds {:.3f} tokens per pass", tokens), {tokens});
    fmt::print("{:.3f} tokens per pass.\n", tokens);
    judge.score(1 / tokens, "passes per token");
  });
}
