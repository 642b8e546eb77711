// The form of a lesson: a chapter that is read in one sitting and asks, and exercises behind it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "lessons/grader/exercise.hpp"
#include "tests/catch.hpp"

using namespace tapestry;

namespace {

struct Chapter {
  std::string folder, number;       // "11_bahdanau", "11"
  std::vector<std::string> lines;   // of lesson.cpp
  std::vector<std::string> beside;  // of all sources of the lesson
  std::string head;                 // the comment that it begins with, in one line
};

std::vector<Chapter> chapters() {
  std::vector<Chapter> all;
  for (const auto& entry : std::filesystem::directory_iterator(TAPESTRY_SOURCE_DIR "/lessons")) {
    std::ifstream in(entry.path() / "lesson.cpp");
    if (!in) continue;
    Chapter chapter{entry.path().filename().string(), "", {}, {}, ""};
    chapter.number = chapter.folder.substr(0, 2);
    bool in_head = true;
    for (std::string line; std::getline(in, line);) {
      in_head = in_head && line.rfind("//", 0) == 0;
      if (in_head) chapter.head += line.substr(2);
      chapter.lines.push_back(line);
    }
    for (const auto& file : std::filesystem::directory_iterator(entry.path())) {
      std::ifstream source(file.path());
      if (file.path().extension() == ".cpp" || file.path().extension() == ".hpp")
        for (std::string line; std::getline(source, line);) chapter.beside.push_back(line);
    }
    all.push_back(std::move(chapter));
  }
  std::sort(all.begin(), all.end(), [](const Chapter& a, const Chapter& b) { return a.folder < b.folder; });
  return all;
}

std::size_t count_of(const std::vector<std::string>& lines, const std::string& text) {
  std::size_t count = 0;
  for (const std::string& line : lines) count += line.find(text) != line.npos;
  return count;
}

}  // namespace

TEST_CASE("a chapter says what it takes, asks, and ends with what to remember", "[chapter]") {
  static const std::regex minutes(R"(\d+ minutes to read)"), run(R"( to run\b)");
  const std::vector<Chapter> all = chapters();
  CHECK(all.size() >= 26);
  for (const Chapter& chapter : all) {
    CAPTURE(chapter.folder, chapter.lines.size());
    CHECK(std::regex_search(chapter.head, minutes));
    CHECK(std::regex_search(chapter.head, run));
    CHECK((chapter.number == "01" || chapter.head.find("Needs lesson") != std::string::npos));
    CHECK(chapter.head.find("Afterwards you can") != std::string::npos);
    const std::size_t asked = count_of(chapter.beside, "report.ask(");
    CHECK(asked >= 2);
    CHECK(asked <= 4);
    CHECK(count_of(chapter.beside, "report.answer(") == asked);
    CHECK(count_of(chapter.lines, "// What to remember.") == 1);
    const std::string number = std::to_string(std::stoi(chapter.number));
    CHECK(count_of(chapter.lines, "// Exercises: lessons/practise " + number + " (") == 1);
  }
}

TEST_CASE("each lesson has its exercises", "[chapter]") {
  std::map<int, std::map<std::string, int>> kinds;  // of a lesson
  const std::vector<grader::Exercise> all = grader::read_exercises(TAPESTRY_SOURCE_DIR);
  CHECK(all.size() >= 90);
  int pieces = 0;
  for (const grader::Exercise& exercise : all) {
    CAPTURE(exercise.id.text());
    ++kinds[exercise.id.lesson][exercise.kind];
    pieces += !exercise.piece.empty() || std::regex_search(exercise.title, std::regex("^[Mm]ilestone"));
    CHECK(exercise.hints.size() >= 2);
    CHECK(exercise.wrong.size() >= 2);
    CHECK(exercise.minutes >= 5);
    CHECK(exercise.minutes <= 30);
  }
  CHECK(pieces >= 12);  // the learner's own engine
  for (const Chapter& chapter : chapters()) {
    CAPTURE(chapter.folder);
    std::map<std::string, int>& of = kinds[std::stoi(chapter.number)];
    int all_of_them = 0;
    for (const auto& [kind, count] : of) all_of_them += count;
    CHECK(all_of_them >= 3);
    CHECK(of["implement"] + of["derive"] >= 1);
    CHECK(of["predict"] + of["debug"] + of["measure"] >= 1);
    CHECK((std::stoi(chapter.number) < 11 || of["design"] >= 1));
  }
}
