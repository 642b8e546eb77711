// 35.3 copy_on_write: Debug copy on write
// debug, 15 minutes
//
// The tokens of all texts are stored in pages of four places. A new text may share the pages of its prompt with an
// old one: branch() copies the table, and counts one more owner for each page. Then each text is continued with
// append().
//
// But when one text is continued, another text changes. Fix append(). Before it writes to a page that has other
// owners, it must copy this page. A page with one owner must not be copied. After each call, owners[i] must be the
// number of texts whose table contains page i.
#include "lessons/grader/answer.hpp"

constexpr std::size_t kPlaces = 4;

struct Pages {
  std::vector<std::array<std::int64_t, kPlaces>> tokens;
  std::vector<int> owners;

  /// Returns the number of a new page with one owner.
  std::size_t add() {
    tokens.push_back({});
    owners.push_back(1);
    return owners.size() - 1;
  }
};

struct Text {
  std::vector<std::size_t> table;
  std::size_t length = 0;
};

Text branch(Pages& pages, const Text& text) {
  for (const std::size_t page : text.table) ++pages.owners[page];
  return text;
}

void append(Pages& pages, Text& text, std::int64_t token) {
  const std::size_t place = text.length % kPlaces;
  //[ a page to write to
  //: if (place == 0) text.table.push_back(pages.add());
  if (place == 0) {
    text.table.push_back(pages.add());
  } else if (pages.owners[text.table.back()] > 1) {
    const std::size_t old = text.table.back(), copy = pages.add();
    pages.tokens[copy] = pages.tokens[old];
    --pages.owners[old];
    text.table.back() = copy;  // of this text alone
  }
  //]
  pages.tokens[text.table.back()][place] = token;
  ++text.length;
}

// hint: Two texts share a page that is half full. What does append() do to the other text?
// hint: Before you write to a page with more than one owner, add a page, copy the tokens, and replace ____ in the
//   table. What happens to the owners of the old page?
// hint: The old page loses one owner, and the new page has one already. If the page has only one owner, or if a new
//   page begins, there is nothing to copy.
// start: The first text changes when the second one is continued, because both write to the same page.

// wrong: The new page is empty: the tokens of the prompt in this page are lost. Copy them.
// - pages.tokens[copy] = pages.tokens[old];
// +
// wrong: The old page still counts this text as an owner. So it is never free, and its last owner copies it again.
// - --pages.owners[old];
// +
// wrong: You copy a page that no other text owns. This takes a new page for every token.
// - } else if (pages.owners[text.table.back()] > 1) {
// + } else {
//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

std::vector<double> tokens_of(const Pages& pages, const Text& text) {
  std::vector<double> tokens;
  for (std::size_t p = 0; p < text.length; ++p)
    tokens.push_back(static_cast<double>(pages.tokens[text.table.at(p / kPlaces)][p % kPlaces]));
  return tokens;
}

void compare(Judge& judge, Size prompt, Size added, Size texts) {
  Pages pages;
  std::vector<Text> all(1);
  std::vector<std::vector<double>> expected(1);
  const auto put = [&](std::size_t i) {
    const std::int64_t token = judge.random().between(1, 1'000'000);
    append(pages, all[i], token);
    expected[i].push_back(static_cast<double>(token));
  };
  for (Size p = 0; p < prompt; ++p) put(0);
  for (Size i = 1; i < texts; ++i) {
    const Text next = branch(pages, all[0]);
    const std::vector<double> same = expected[0];
    all.push_back(next);
    expected.push_back(same);
  }
  for (Size step = 0; step < added; ++step)
    for (std::size_t i = 0; i < all.size(); ++i) put(i);
  std::vector<double> owners(pages.owners.size(), 0.0), counted(pages.owners.begin(), pages.owners.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    judge.same(tokens_of(pages, all[i]), expected[i], "the tokens of text " + std::to_string(i + 1));
    for (const std::size_t page : all[i].table) owners[page] += 1;
  }
  judge.same(counted, owners, "the owners of the pages");
  double used = 0;
  for (const double count : owners) used += count > 0 ? 1 : 0;
  const Size shared = added > 0 && texts > 1 ? prompt / 4 : (prompt + 3) / 4;
  const Size own = (prompt + added + 3) / 4 - shared;
  judge.same(used, static_cast<double>(shared + own * texts), "the number of pages in use");
  judge.same(static_cast<double>(owners.size()), used, "the number of pages ever added");
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("two texts that share a prompt of two tokens keep their own tokens", [&] {
    judge.example("a prompt of 2 tokens, then 1 token for each of two texts");
    compare(judge, 2, 1, 2);
  });
  judge.claim("any number of texts keep their tokens and their pages", [&] {
    judge.each_size({{"prompt", 1, 9}, {"tokens added", 0, 6}, {"texts", 1, 4}},
                    [&](const Sizes& n) { compare(judge, n[0], n[1], n[2]); }, {.f32 = false});
  });
}
