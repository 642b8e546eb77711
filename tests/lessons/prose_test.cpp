// A lesson's text against its program: a figure that a comment quotes must stand in the code as well, where
// the run checks it (Report::check_quoted, at_least, at_most, or the constant that makes it so). Each in its place:
// in the code of the part that the comment belongs to, or in a call of quoted() for the part that ends with
// such calls; an equal number elsewhere in the lesson says nothing. A paragraph that begins with "At seed 1" quotes the
// recorded run (lessons/website/runs), with the table after it: each of its numbers must be in the same section there.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

struct Lesson {
  std::string name;
  std::vector<std::string> prose, code;  // comment lines without their slashes; all other lines
};

/// A file of a lesson as its parts, from heading to heading; what stands before the first is part 0.
struct Part {
  std::vector<std::string> prose, code;
  std::vector<std::string> of_run;  // paragraphs of the prose that begin with "At seed 1", with their tables
};
using Parts = std::vector<Part>;

bool is_comment(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first != std::string::npos && line.compare(first, 2, "//") == 0;
}

std::string without_slashes(const std::string& comment) {
  return comment.substr(comment.find_first_not_of(' ') + 2);
}

Parts parts_of(std::istream& in) {
  Parts parts(1);
  bool of_run = false, ended = true;  // after a blank line, only a table belongs to the paragraph before
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("// ---- ", 0) == 0) parts.emplace_back();
    if (!is_comment(line)) {
      parts.back().code.push_back(line);
      of_run = false, ended = true;
      continue;
    }
    const std::string text = without_slashes(line);
    if (ended && text.rfind(" At seed 1", 0) == 0)
      of_run = true;
    else if (ended && text.rfind("     ", 0) != 0 && !text.empty())
      of_run = false;
    ended = text.empty() || text.rfind(" ---- ", 0) == 0 || (ended && text.rfind("     ", 0) == 0);
    (of_run ? parts.back().of_run : parts.back().prose).push_back(text);
  }
  return parts;
}

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
      if (is_comment(line))
        lesson.prose.push_back(without_slashes(line));
      else
        lesson.code.push_back(line);
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

/// Every number of a text, thousands' commas and C++'s apostrophes taken out; digits of names (f64) and of
/// formats ({:.3f}) are none.
std::set<double> numbers(const std::string& text) {
  static const std::regex apostrophe(R"((\d)'(?=\d))"), format(R"(\{:[^}]*\})"),
      number(R"((^|[^\w.])((\d+(,\d{3})+|\d+)?(\.\d+)?(e-?\d+)?)(?!\w))");
  const std::string plain = std::regex_replace(std::regex_replace(text, format, ""), apostrophe, "$1");
  std::set<double> found;
  for (std::sregex_iterator it(plain.begin(), plain.end(), number), end; it != end; ++it) {
    std::string digits = (*it)[2];
    digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
    if (!digits.empty()) found.insert(std::strtod(digits.c_str(), nullptr));
  }
  return found;
}

/// Figures that look like results: percentages and decimals. Lines that name a year cite somebody's paper;
/// what follows an option's name is what one writes.
std::vector<double> quoted_figures(const std::string& line) {
  static const std::regex year(R"(\b(19|20)\d\d\b)"), option(R"(--[\w-]+ \d[\d.]*)"),
      figure(R"((^|[^\w.])((\d+(\.\d+)?(e-?\d+)?) ?%|\d+\.\d+(e-?\d+)?)(?![\w.]*\d))");
  std::vector<double> found;
  if (std::regex_search(line, year)) return found;
  const std::string plain = std::regex_replace(line, option, "");
  for (std::sregex_iterator it(plain.begin(), plain.end(), figure), end; it != end; ++it)
    found.push_back(std::strtod((*it)[2].str().c_str(), nullptr));
  return found;
}

/// The numbers in calls of quoted().
std::set<double> judged(const Parts& parts) {
  std::set<double> found;
  for (const Part& part : parts) {
    std::string code;
    for (const std::string& line : part.code) code += line + "\n";
    for (std::size_t at = code.find("quoted("); at != code.npos; at = code.find("quoted(", at + 1))
      found.merge(numbers(code.substr(at, code.find(";\n", at) - at)));
  }
  return found;
}

/// The figures that a file's comments quote and that do not stand where they should.
std::vector<std::string> adrift(const Parts& parts) {
  const std::set<double> in_calls = judged(parts);
  std::vector<std::string> found;
  for (const Part& part : parts) {
    std::set<double> here;
    bool read = false;
    for (const std::string& line : part.prose)
      for (const double figure : quoted_figures(line)) {
        if (!read)
          for (const std::string& code : part.code) here.merge(numbers(code));
        read = true;
        if (here.count(figure) + in_calls.count(figure) == 0) found.push_back(line);
      }
  }
  return found;
}

Parts parts_of(const std::string& text) {
  std::istringstream in(text);
  return parts_of(in);
}

/// The numbers that a recorded run prints, by section; its head is section 0.
std::vector<std::set<double>> printed(std::istream& in) {
  static const std::regex heading(R"(\d+\. .*)");
  std::vector<std::set<double>> sections(1);
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, heading)) sections.emplace_back();
    sections.back().merge(numbers(line));
  }
  return sections;
}

/// Lines of "At seed 1" with a number that the same section of the recorded run does not print.
std::vector<std::string> not_printed(const Parts& parts, const std::vector<std::set<double>>& sections) {
  const std::string opening = " At seed 1";
  std::vector<std::string> found;
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (const std::string& line : parts[part].of_run)
      for (const double number : numbers(line.rfind(opening, 0) == 0 ? line.substr(opening.size()) : line))
        if (part == 0 || part >= sections.size() || sections[part].count(number) == 0) {
          found.push_back(line);
          break;
        }
  return found;
}

}  // namespace

TEST_CASE("figures in a lesson's text stand in its code, in the same part", "[prose]") {
  std::size_t files = 0;
  for (const auto& folder : std::filesystem::directory_iterator(TAPESTRY_SOURCE_DIR "/lessons")) {
    if (!std::filesystem::exists(folder.path() / "lesson.cpp")) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
      std::ifstream in(entry.path());
      CAPTURE(entry.path().string());
      CHECK(adrift(parts_of(in)) == std::vector<std::string>{});
      ++files;
    }
  }
  CHECK(files >= 26);
}

TEST_CASE("what a lesson's text says of seed 1 is in its recorded run", "[prose]") {
  for (const auto& folder : std::filesystem::directory_iterator(TAPESTRY_SOURCE_DIR "/lessons")) {
    const std::string slug = folder.path().filename().string();
    if (!std::filesystem::exists(folder.path() / "lesson.cpp")) continue;
    std::ifstream run(TAPESTRY_SOURCE_DIR "/lessons/website/runs/" + slug + "/output.txt");
    const std::vector<std::set<double>> sections = printed(run);
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
      std::ifstream in(entry.path());
      CAPTURE(entry.path().string());
      CHECK(not_printed(parts_of(in), sections) == std::vector<std::string>{});
    }
  }
}

TEST_CASE("the numbers of a run are looked for in its section", "[prose]") {
  const std::string heading = "// ---- 1. One ----\n", said = "// At seed 1, it is 0.25:\n//\n//     a  7\n";
  const auto of = [](const std::string& text) {
    std::istringstream in(text);
    return printed(in);
  };
  const std::string run = "head 9\n1. One\n  loss 0.25, 7 of them\n2. Two\n  0.5\n";
  CHECK(not_printed(parts_of(heading + said), of(run)).empty());
  CHECK(adrift(parts_of(heading + said)).empty());  // not looked for in the code
  CHECK(not_printed(parts_of(said), of(run)).size() == 2);
  CHECK(not_printed(parts_of(heading + "// ---- 2. Two ----\n" + said), of(run)).size() == 2);
  CHECK(not_printed(parts_of(heading + said), of("1. One\n0.25\n")) == std::vector<std::string>{"     a  7"});
  CHECK(not_printed(parts_of(heading + said), {}).size() == 2);  // no recorded run
  // The paragraph after the table, and one after code, are ordinary ones.
  CHECK(adrift(parts_of(heading + said + "//\n// And 0.125.\n")).size() == 1);
  CHECK(adrift(parts_of(heading + said + "int x;\n//     0.125\n")).size() == 1);
}

TEST_CASE("a figure is looked for in its place", "[prose]") {
  const std::string first = "// ---- 1. One ----\n// It falls to 0.25 here.\n",
                    second = "// ---- 2. Two ----\n// Nothing is said.\n";
  CHECK(adrift(parts_of(first + "const double kLimit = 0.25;\n" + second)).empty());
  CHECK(adrift(parts_of(first + second + "  report.check_quoted(\"it\", x,\n    0.25, 0.1);\n")).empty());
  const std::vector<std::string> missing{" It falls to 0.25 here."};
  CHECK(adrift(parts_of(first + second)) == missing);
  // An equal number in another part, in a name, in a format, or behind the call.
  CHECK(adrift(parts_of(first + second + "const double kElse = 0.25;\n")) == missing);
  CHECK(adrift(parts_of(first + "print(\"{:0.25}\");\n" + second)) == missing);
  CHECK(adrift(parts_of(first + second + "  report.check_quoted(\"it\", x, 1);\n  f(0.25);\n")) == missing);
  CHECK(adrift(parts_of("// ---- 1. One ----\n// In 64 % of cases.\nconst DType f64;\n")).size() == 1);
}

TEST_CASE("the search for quoted figures finds them", "[prose]") {
  CHECK(quoted_figures(" falls to 0.0028 at d = 256, in 4.5 % of draws") == std::vector<double>{0.0028, 4.5});
  CHECK(quoted_figures(" reaches 99 % (and 3.6e-6)") == std::vector<double>{99, 3.6e-6});
  CHECK(quoted_figures(" BLEU 26.75 (Bahdanau et al. 2015)").empty());
  CHECK(quoted_figures(" 24 letters, batches of 64; section 3.2.1 of it").empty());
  CHECK(quoted_figures(" with --joined 0.2 it is 0.5") == std::vector<double>{0.5});
  CHECK(numbers("f64, x2, {:.3f}, {:>9}, a.7, 2.5.").count(2.5) == 1);
  CHECK(numbers("f64, x2, {:.3f}, {:>9}") == std::set<double>{});
  CHECK(numbers("report.check_quoted(\"at 256\", x, 0.0028, .1); 1'000'000") ==
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
