#include "lessons/grader/exercise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <vector>

#include "core/tensor/error.hpp"

namespace tapestry::grader {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

namespace {

namespace fs = std::filesystem;

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' '), last = line.find_last_not_of(' ');
  return first == std::string::npos ? "" : line.substr(first, last - first + 1);
}

bool starts(const std::string& line, const std::string& with) { return line.rfind(with, 0) == 0; }

/// Reader of a source's lines, with the line number for error messages.
class Reader {
 public:
  Reader(fs::path shown, const std::string& text) : shown_(std::move(shown)), lines_(lines_of(text)) {}

  bool more() const { return at_ < lines_.size(); }
  const std::string& peek() const { return lines_[at_]; }
  std::string next() { return lines_[at_++]; }
  int number() const { return static_cast<int>(at_) + 1; }
  [[noreturn]] void refuse(const std::string& why) const {
    fail("{}:{}: {}", shown_.string(), std::min(at_ + 1, lines_.size()), why);
  }

 private:
  fs::path shown_;
  std::vector<std::string> lines_;
  std::size_t at_ = 0;
};

void read_head(Reader& in, Exercise& exercise) {
  std::smatch match;
  std::string line = in.more() ? in.peek() : "";
  if (!std::regex_match(line, match, std::regex(R"(// (\d+)\.(\d+) ([a-z0-9_]+): (.+))")))
    in.refuse("the first line must be \"// 11.1 name: its title\"");
  exercise.id = {std::stoi(match[1]), std::stoi(match[2])};
  exercise.name = match[3];
  exercise.title = match[4];
  in.next();
  line = in.more() ? in.peek() : "";
  if (!std::regex_match(
          line, match,
          std::regex(
              R"(// (implement|derive|debug|predict|measure|speed|design), (\d+) minutes?(, limit (\d+) s)?(, fast)?(, piece ([a-z_]+\.hpp))?)")))
    in.refuse(
        "the second line must be \"// kind, 10 minutes\"; the kinds are implement, derive, debug, predict, measure, "
        "speed and design");
  exercise.kind = match[1];
  exercise.minutes = std::stoi(match[2]);
  if (match[4].matched) exercise.limit = std::stod(match[4]);
  exercise.fast = match[5].matched;
  exercise.piece = match[7];
  in.next();
  while (in.more() && starts(in.peek(), "//")) {
    const std::string text = in.next();
    exercise.task += (text.size() > 3 ? text.substr(3) : "") + "\n";
  }
  while (starts(exercise.task, "\n")) exercise.task.erase(0, 1);
  if (exercise.task.empty()) in.refuse("the task is missing; write it as a comment below the second line");
}

/// Reads a hint, a wrong answer or the symptom: a keyword, then lines that continue it after three spaces.
void read_note(Reader& in, Exercise& exercise) {
  const std::string line = in.next();
  const std::size_t colon = line.find(": ");
  const std::string keyword = line.substr(3, colon - 3);
  std::string text = line.substr(colon + 2);
  while (in.more() && starts(in.peek(), "//   ")) text += "\n" + in.next().substr(5);
  if (keyword == "hint") {
    exercise.hints.push_back(text);
  } else if (keyword == "start") {
    exercise.symptom = text;
  } else {
    WrongAnswer wrong{static_cast<int>(exercise.wrong.size()) + 1, text, {}, {}};
    while (in.more() && (starts(in.peek(), "// - ") || in.peek() == "// -"))
      wrong.old_lines += in.peek().size() > 5 ? in.next().substr(5) + "\n" : (in.next(), "\n");
    while (in.more() && (starts(in.peek(), "// + ") || in.peek() == "// +"))
      wrong.new_lines += in.peek().size() > 5 ? in.next().substr(5) + "\n" : (in.next(), "\n");
    if (wrong.old_lines.empty())
      in.refuse("\"// wrong:\" must be followed by lines with \"// - \" and \"// + \"");
    exercise.wrong.push_back(wrong);
  }
}

bool is_note(const std::string& line) {
  return starts(line, "// hint: ") || starts(line, "// wrong: ") || starts(line, "// start: ");
}

}  // namespace

std::string ExerciseId::text() const { return fmt::format("{}.{}", lesson, number); }

Exercise read_exercise(const fs::path& root, const fs::path& source) {
  std::ifstream in(root / source, std::ios::binary);
  if (!in) fail("{}: the file cannot be read", source.string());
  return parse_exercise(source, {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()});
}

Exercise parse_exercise(const fs::path& source, const std::string& text) {
  Reader in(source, text);
  Exercise exercise;
  exercise.source = source;
  exercise.folder = source.parent_path().parent_path().filename();
  read_head(in, exercise);
  bool open = false, noted = false;
  int holes = 0;
  while (in.more() && in.peek() != "//= judge") {
    if (is_note(in.peek())) {
      read_note(in, exercise);
      noted = true;
      continue;
    }
    if (noted && !in.peek().empty() && in.peek() != "//")  // it would become part of the learner's program
      in.refuse(
          "only \"// hint:\", \"// wrong:\" and \"// start:\" may follow the first of these; the judge begins with "
          "\"//= judge\"");
    const std::string line = trimmed(in.peek());
    if (starts(line, "//[") || line == "//]") {
      if (open == starts(line, "//["))
        in.refuse(open ? "a hole must not begin inside a hole"
                       : "\"//]\" must follow \"//[\", which begins a hole");
      open = !open;
      holes += open ? 1 : 0;
    }
    if (noted)
      in.next();  // an empty line between two notes
    else
      exercise.body_ += in.next() + "\n";
  }
  if (open) in.refuse("every hole must end with \"//]\"");
  if (holes == 0) in.refuse("an exercise must have a hole; begin one with \"//[ the code to write\"");
  if (!in.more()) in.refuse("the judge is missing; begin it with a line \"//= judge\"");
  in.next();
  exercise.judge_line = in.number();
  while (in.more()) exercise.judge += in.next() + "\n";
  while (exercise.body_.size() > 1 && exercise.body_.substr(exercise.body_.size() - 2) == "\n\n")
    exercise.body_.pop_back();
  const std::string wanted = fmt::format("{}_{}.cpp", exercise.id.number, exercise.name);
  if (source.filename() != wanted ||
      exercise.folder.string().substr(0, 2) != fmt::format("{:02}", exercise.id.lesson))
    fail("{}: exercise {} \"{}\" must be in lesson {:02} as exercises/{}", source.string(),
         exercise.id.text(), exercise.name, exercise.id.lesson, wanted);
  for (const WrongAnswer& wrong : exercise.wrong) exercise.with(wrong);
  return exercise;
}

std::string Exercise::program(bool solved) const {
  std::string out = fmt::format("// {} {}: {}\n// {}, about {} minutes{}\n//\n", id.text(), name, title, kind,
                                minutes, piece.empty() ? "" : "; part of your engine: engine/" + piece);
  std::istringstream task_lines(task), body_lines(body_);
  std::string line;
  while (std::getline(task_lines, line)) out += line.empty() ? "//\n" : "// " + line + "\n";
  bool open = false;
  while (std::getline(body_lines, line)) {
    const std::string indent = line.substr(0, line.find_first_not_of(' ')), text = trimmed(line);
    if (starts(text, "//[")) {
      open = true;
      out += fmt::format("{}// ↓ your code: {}\n", indent, trimmed(text.substr(3)));
    } else if (text == "//]") {
      open = false;
      out += indent + "// ↑\n";
    } else if (starts(text, "//:")) {
      if (!solved) out += text.size() > 4 ? indent + text.substr(4) + "\n" : "\n";
    } else if (!open || solved) {
      out += line + "\n";
    }
  }
  return out;
}

bool Exercise::is_of_lesson(const std::string& number) const {
  return number == std::to_string(id.lesson) || number == fmt::format("{:02}", id.lesson);
}

std::string Exercise::given() const { return program(false); }
std::string Exercise::solution() const { return program(true); }

std::string Exercise::with(const WrongAnswer& mistake) const {
  const std::vector<std::string> lines = lines_of(solution()), old_lines = lines_of(mistake.old_lines);
  const auto code = [](const std::string& line) { return trimmed(line.substr(0, line.find("//"))); };
  const auto same = [&](const std::string& a, const std::string& b) { return code(a) == code(b); };
  const auto stands = [&](auto from) {
    return std::search(from, lines.end(), old_lines.begin(), old_lines.end(), same);
  };
  const auto at = stands(lines.begin());
  if (at == lines.end() || stands(at + 1) != lines.end())
    fail("{}: the lines of the wrong answer \"{}\" must occur in the solution exactly once:\n{}",
         source.string(), mistake.sentence, mistake.old_lines);
  const std::string indent = at->substr(0, at->find_first_not_of(' '));
  std::string out;
  for (auto line = lines.begin(); line != at; ++line) out += *line + "\n";
  for (const std::string& line : lines_of(mistake.new_lines)) out += indent + line + "\n";
  for (auto line = at + static_cast<std::ptrdiff_t>(old_lines.size()); line != lines.end(); ++line)
    out += *line + "\n";
  return out;
}

std::string Exercise::holes() const {
  std::string out, line;
  std::istringstream lines(body_);
  bool open = false;
  while (std::getline(lines, line)) {
    const std::string text = trimmed(line);
    if (starts(text, "//["))
      open = true;
    else if (text == "//]")
      open = false;
    else if (open && !starts(text, "//:"))
      out += line + "\n";
  }
  return out;
}

namespace {

bool in_a_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Calls f(rest, line) for each directive of this kind, where `rest` is the text after its name. Handles lines
/// continued with a backslash, and "%:" for "#".
template <class F>
void each_directive(const std::string& text, const std::string& kind, const F& f) {
  std::istringstream lines(text);
  std::string line, more;
  for (int number = 1; std::getline(lines, line); ++number) {
    const int first = number;
    while (line.ends_with('\\') && std::getline(lines, more))
      line.replace(line.size() - 1, 1, more), ++number;
    std::size_t at = line.find_first_not_of(" \t");
    if (at == std::string::npos || (line[at] != '#' && line.compare(at, 2, "%:") != 0)) continue;
    at = line.find_first_not_of(" \t", at + (line[at] == '#' ? 1 : 2));
    if (at == std::string::npos || line.compare(at, kind.size(), kind) != 0) continue;
    const std::string rest = line.substr(at + kind.size());
    if (rest.empty() || !in_a_name(rest[0])) f(rest, first);
  }
}

}  // namespace

std::vector<std::pair<std::string, int>> includes_of(const std::string& text) {
  std::vector<std::pair<std::string, int>> found;
  each_directive(text, "include", [&](const std::string& rest, int line) {
    const std::size_t begin = rest.find('"'),
                      end = begin == std::string::npos ? begin : rest.find('"', begin + 1);
    if (end != std::string::npos) found.emplace_back(rest.substr(begin + 1, end - begin - 1), line);
  });
  return found;
}

std::vector<std::pair<std::string, int>> macros_of(const std::string& text) {
  std::vector<std::pair<std::string, int>> found;
  for (const char* kind : {"define", "undef"})
    each_directive(text, kind, [&](const std::string& rest, int line) {
      const std::size_t begin = rest.find_first_not_of(" \t");
      std::size_t end = begin;
      while (end < rest.size() && in_a_name(rest[end])) ++end;
      if (begin != std::string::npos && end > begin)
        found.emplace_back(rest.substr(begin, end - begin), line);
    });
  return found;
}

bool has_word(const std::string& text, const std::string& name) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
    if ((at == 0 || !in_a_name(text[at - 1])) &&
        (at + name.size() == text.size() || !in_a_name(text[at + name.size()])))
      return true;
  return false;
}

std::vector<std::string> pieces_in(const std::string& text) {
  std::vector<std::string> found;
  for (const auto& [name, line] : includes_of(text))
    if (name.starts_with("engine/")) found.push_back(name.substr(7));
  return found;
}

std::vector<Exercise> read_exercises(const fs::path& root) {
  std::vector<Exercise> all;
  for (const fs::directory_entry& lesson : fs::directory_iterator(root / "lessons")) {
    if (!fs::is_directory(lesson.path() / "exercises")) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(lesson.path() / "exercises"))
      if (file.path().extension() == ".cpp")
        all.push_back(read_exercise(root, fs::relative(file.path(), root)));
  }
  std::sort(all.begin(), all.end(), [](const Exercise& a, const Exercise& b) { return a.id < b.id; });
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].id == all[i - 1].id)
      fail("{} and {} must have different numbers; rename one", all[i - 1].source.string(),
           all[i].source.string());
  return all;
}

}  // namespace tapestry::grader
