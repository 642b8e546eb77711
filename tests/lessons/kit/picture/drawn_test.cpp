// Whole pictures, as SVG and in terminals, are the ones in drawn/.
#include "tests/catch.hpp"
#include "tests/lessons/kit/kept.hpp"
#include "tests/lessons/kit/picture/examples.hpp"

namespace tapestry::kit {
namespace {

/// Where a number begins at `at`, its end; else `at`.
std::size_t end_of_number(const std::string& text, std::size_t at) {
  std::size_t end = text.find_first_not_of("0123456789.", at + (text[at] == '-' ? 1 : 0));
  if (end == std::string::npos) end = text.size();
  return text.find_first_of("0123456789", at) < end ? end : at;
}

/// Whether "#rrggbb" stands at both places, with parts that differ by 1 at most.
bool same_colour(const std::string& a, std::size_t i, const std::string& b, std::size_t j) {
  if (a[i] != '#' || b[j] != '#' || a.size() < i + 7 || b.size() < j + 7) return false;
  const std::string digits = "0123456789abcdef";
  const std::string left = a.substr(i + 1, 6), right = b.substr(j + 1, 6);
  if ((left + right).find_first_not_of(digits) != std::string::npos) return false;
  for (std::size_t part = 0; part < 6; part += 2)
    if (std::abs(std::stoi(left.substr(part, 2), nullptr, 16) -
                 std::stoi(right.substr(part, 2), nullptr, 16)) > 1)
      return false;
  return true;
}

/// Whether two lines are the same, but for the last digit of coordinates and one step of a colour: two
/// decimals are written, and compilers round their sums each in their way.
bool same(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (same_colour(a, i, b, j)) {
      i += 7, j += 7;
      continue;
    }
    const std::size_t a_end = end_of_number(a, i), b_end = end_of_number(b, j);
    if (a_end > i && b_end > j) {
      if (std::abs(std::stod(a.substr(i, a_end - i)) - std::stod(b.substr(j, b_end - j))) > 0.02)
        return false;
      i = a_end, j = b_end;
    } else if (a[i++] != b[j++]) {
      return false;
    }
  }
  return i == a.size() && j == b.size();
}

template <typename Picture>
void check_svg(const std::string& name, const Picture& picture) {
  CHECK(difference("kit/picture/drawn/" + name + ".svg", svg(picture), same) == "");
}

/// Without colours at each width, then with colours.
template <typename Picture>
void check_text(const std::string& name, const Picture& picture, const std::vector<int>& widths) {
  std::string all;
  for (const int columns : widths)
    all += "== " + std::to_string(columns) + " columns ==\n" + text(picture, Terminal{false, false, columns});
  all += "== in colours ==\n" + text(picture, Terminal{true, true, widths.front()});
  CHECK(difference("kit/picture/drawn/" + name + ".txt", all) == "");
}

}  // namespace

TEST_CASE("a coordinate's last digit may differ, and nothing else", "[kit]") {
  CHECK(same("x=\"12.34\" y=\"-5\"", "x=\"12.35\" y=\"-5.01\""));
  CHECK_FALSE(same("x=\"12.34\"", "x=\"12.4\""));
  CHECK_FALSE(same("x=\"12\"", "y=\"12\""));
  CHECK(same("\"#579ac8\"", "\"#579bc8\""));
  CHECK_FALSE(same("\"#579ac8\"", "\"#579cc8\""));
  CHECK_FALSE(same("\"#579ac8\"", "\"#679ac8\""));
  CHECK_FALSE(same("x=\"12\"", "x=\"12\" "));
  CHECK_FALSE(same("×2", "×3"));
}

TEST_CASE("charts are drawn as they were found right", "[kit]") {
  check_svg("losses", examples::losses());
  check_svg("times", examples::times());
  check_svg("plain", examples::plain());
  check_text("losses", examples::losses(), {80, 46, 30});
  check_text("times", examples::times(), {80, 48, 33});
  check_text("plain", examples::plain(), {60, 24});
}

TEST_CASE("heat maps are drawn as they were found right", "[kit]") {
  check_svg("alignment", examples::alignment());
  check_svg("similarity", examples::similarity());
  check_text("alignment", examples::alignment(), {80, 26});
  check_svg("strip24", examples::strip(24));
  check_svg("strip36", examples::strip(36));
  check_text("strip24", examples::strip(24), {130, 80});
  check_text("similarity", examples::similarity(), {80, 22});
  check_svg("differences", examples::differences());
  check_text("differences", examples::differences(), {80, 20});
}

TEST_CASE("grids of heat maps are drawn as they were found right", "[kit]") {
  check_svg("heads", examples::heads());
  check_svg("diagonals", examples::diagonals(14, 6));
  check_svg("unlabelled", examples::diagonals(22, 6));
  check_text("diagonals", examples::diagonals(14, 3), {100, 60, 30});
  check_text("heads", examples::heads(), {80, 32, 31, 30, 23, 22, 21});
}

TEST_CASE("bars are drawn as they were found right", "[kit]") {
  check_svg("steps", examples::steps());
  check_svg("few", examples::few());
  check_text("steps", examples::steps(), {80, 40});
  check_text("few", examples::few(), {60});
}

TEST_CASE("graphs are drawn as they were found right", "[kit]") {
  check_svg("formula", examples::formula());
  check_svg("narrow", examples::narrow());
  check_svg("crossed", examples::crossed());
  check_svg("alone", examples::alone());
  check_text("alone", examples::alone(), {80});
  check_text("formula", examples::formula(), {80, 24});
  check_text("narrow", examples::narrow(), {80});
  check_text("crossed", examples::crossed(), {80, 50});
}

}  // namespace tapestry::kit
