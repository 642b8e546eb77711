// A lesson's text against its program: a figure that a comment quotes must stand in the code as well, where
// the run checks it (Report::quoted, at_least, at_most, or the constant that makes it so).
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

struct Lesson {
  std::string name;
  std::vector<std::string> prose, code;  // comment lines without their slashes; all other lines
};

/// lesson.cpp first, then what else is in the folder.
Lesson read_lesson(const std::filesystem::path& folder) {
  Lesson lesson{folder.filename().string(), {}, {}};
  std::vector<std::filesystem::path> files = {folder / "lesson.cpp"};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string extension = entry.path().extension();
    if ((extension == ".cpp" || extension == ".hpp") && entry.path() != files.front())
      files.push_back(entry.path());
  }
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      const std::size_t first = line.find_first_not_of(' ');
      const bool comment = first != std::string::npos && line.compare(first, 2, "//") == 0;
      (comment ? lesson.prose : lesson.code).push_back(comment ? line.substr(first + 2) : line);
    }
  }
  return lesson;
}

std::vector<Lesson> lessons() {
  std::vector<Lesson> all;
  for (const auto& entry : std::filesystem::directory_iterator(TAPESTRY_SOURCE_DIR "/lessons"))
    if (std::filesystem::exists(entry.path() / "lesson.cpp")) all.push_back(read_lesson(entry.path()));
  std::sort(all.begin(), all.end(), [](const Lesson& a, const Lesson& b) { return a.name < b.name; });
  return all;
}

/// Every number of a text, thousands' commas and C++'s apostrophes taken out.
std::set<double> numbers(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '\''), text.end());
  static const std::regex number(R"((\d+(,\d{3})+|\d+)?(\.\d+)?(e-?\d+)?)");
  std::set<double> found;
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
    std::string digits = it->str();
    digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
    if (!digits.empty()) found.insert(std::strtod(digits.c_str(), nullptr));
  }
  return found;
}

/// Figures that look like results: percentages and decimals. Lines that name a year cite somebody's paper.
std::vector<double> quoted_figures(const std::string& line) {
  static const std::regex year(R"(\b(19|20)\d\d\b)"),
      figure(R"((^|[^\w.])((\d+(\.\d+)?(e-?\d+)?) ?%|\d+\.\d+(e-?\d+)?)(?![\w.]*\d))");
  std::vector<double> found;
  if (std::regex_search(line, year)) return found;
  for (std::sregex_iterator it(line.begin(), line.end(), figure), end; it != end; ++it)
    found.push_back(std::strtod((*it)[2].str().c_str(), nullptr));
  return found;
}

}  // namespace

TEST_CASE("figures in a lesson's text stand in its code", "[prose]") {
  REQUIRE(lessons().size() >= 4);
  for (const Lesson& lesson : lessons()) {
    std::set<double> in_code;
    for (const std::string& line : lesson.code) in_code.merge(numbers(line));
    for (const std::string& line : lesson.prose)
      for (const double figure : quoted_figures(line)) {
        CAPTURE(lesson.name, line, figure);
        CHECK(in_code.count(figure) == 1);
      }
  }
}

TEST_CASE("the search for quoted figures finds them", "[prose]") {
  CHECK(quoted_figures(" falls to 0.0028 at d = 256, in 4.5 % of draws") == std::vector<double>{0.0028, 4.5});
  CHECK(quoted_figures(" reaches 99 % (and 3.6e-6)") == std::vector<double>{99, 3.6e-6});
  CHECK(quoted_figures(" BLEU 26.75 (Bahdanau et al. 2015)").empty());
  CHECK(quoted_figures(" 24 letters, batches of 64; section 3.2.1 of it").empty());
  CHECK(numbers("report.quoted(\"at 256\", x, 0.0028, .1); 1'000'000") ==
        std::set<double>{256, 0.0028, 0.1, 1000000});
}

TEST_CASE("a lesson's first line is its number, its name and its idea", "[prose]") {
  for (const Lesson& lesson : lessons()) {
    CAPTURE(lesson.name);
    const std::string number = lesson.name.substr(0, 2), slug = lesson.name.substr(3);
    CHECK(lesson.prose.front().rfind(" " + number + " " + slug + ": ", 0) == 0);
  }
}

TEST_CASE("the parts of a lesson's text are the sections of its output", "[prose]") {
  static const std::regex heading(R"(^ ---- (\d+)\. (.*?) -+$)"),
      section(R"rx(report\.section\(\s*(fmt::format\()?\s*"(([^"\\]|\\.)*)")rx");
  for (const Lesson& lesson : lessons()) {
    std::vector<std::string> parts, sections;
    for (const std::string& line : lesson.prose)
      if (std::smatch found; std::regex_match(line, found, heading)) {
        parts.push_back(found[2]);
        CAPTURE(lesson.name, line);
        CHECK(std::stoul(found[1]) == parts.size());
      }
    std::string code;
    for (const std::string& line : lesson.code) code += line + "\n";
    for (std::sregex_iterator it(code.begin(), code.end(), section), end; it != end; ++it)
      sections.push_back((*it)[2]);
    CAPTURE(lesson.name);
    CHECK(!parts.empty());
    if (parts.size() == sections.size()) CHECK(parts == sections);  // else it has sections for --data, too
  }
}
