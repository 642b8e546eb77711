#include "lessons/grader/workshop.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/tensor/error.hpp"
#include "lessons/kit/program/files.hpp"

namespace tapestry::grader {

namespace {

namespace fs = std::filesystem;

constexpr double kCompileLimit = 120;  // seconds

/// A word for the shell.
std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// FNV-1a.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

std::string time_of(const fs::path& file) {
  std::error_code none;
  return fmt::format("{}", fs::last_write_time(file, none).time_since_epoch().count());
}

void write(const fs::path& file, const std::string& text) {
  if (content(file) != text) kit::write_atomically(file, text);
}

/// Throws Error where the compiler or linker failed since it could not write: that is no fault of the answer.
void refuse_full_disk(const std::string& output) {
  for (const char* sign : {"No space left on device", "File too large", "Disk quota exceeded"})
    if (const std::size_t at = output.find(sign); at != std::string::npos) {
      const std::size_t begin = output.rfind('\n', at) + 1;
      fail("the compiler cannot write the program of your answer, is the disk full? It says: {}",
           output.substr(begin, output.find('\n', at) - begin));
    }
}

}  // namespace

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Workshop::Workshop(fs::path root, fs::path build) : root_(std::move(root)), build_(std::move(build)) {
  std::ifstream in(build_ / "compile_commands.json");
  const nlohmann::json commands = in ? nlohmann::json::parse(in, nullptr, false) : nlohmann::json();
  if (commands.is_array())
    for (const nlohmann::json& entry : commands) {
      const std::string command = entry.value("command", ""), file = entry.value("file", "");
      const std::size_t output = command.rfind(" -o ");
      if (!file.ends_with("lessons/grader/judge/sample.cpp") || output == std::string::npos) continue;
      const bool fast = command.find("exercise_fast.dir") != std::string::npos;
      Kind& kind = fast ? fast_ : checked_;
      kind.folder = entry.value("directory", "");
      kind.compile = command.substr(0, output);
      kind.link = content(build_ / "lessons/grader" / (fast ? "link_fast.txt" : "link_checked.txt"));
    }
  if (checked_.compile.empty() || fast_.compile.empty() || checked_.link.empty() || fast_.link.empty())
    fail(
        "{} does not say how answers are compiled: build the target \"practise\" there, or start with "
        "lessons/practise",
        build_.string());
}

fs::path Workshop::folder_of(const Exercise& exercise) const {
  return build_ / "practise" / exercise.id.text();
}

Answer Workshop::variant(const Exercise& exercise, const std::string& key, const std::string& text) const {
  const fs::path file = folder_of(exercise) / key / "answer.cpp";
  fs::create_directories(file.parent_path());
  write(file, text);
  return {file, text, key};
}

/// Where "engine/tape.hpp" is looked for: the learner's pieces first.
std::vector<fs::path> Workshop::engine_folders(bool learners) const {
  std::vector<fs::path> folders;
  if (learners) folders.push_back(fs::absolute(root_ / "practise"));
  folders.push_back(fs::absolute(build_ / "practise/reference"));
  return folders;
}

std::string Workshop::includes(bool learners) const {
  std::string options;
  for (const fs::path& folder : engine_folders(learners)) options += " -I" + quoted(folder.string());
  return options;
}

void Workshop::knows_engine(const std::vector<Exercise>& exercises) {
  for (const Exercise& exercise : exercises)
    if (!exercise.piece.empty()) pieces_[exercise.piece] = "#pragma once\n" + exercise.solution();
}

/// The pieces that a text includes, with those that they include. Where the learner has none, the solution is laid
/// out, and no piece that comes later.
std::string Workshop::engine_text(const std::string& text, bool learners) const {
  std::string all;
  for (const std::string& piece : pieces_in(text)) {
    std::string found = learners ? content(engine_folders(true).front() / "engine" / piece) : "";
    if (const auto solved = pieces_.find(piece); found.empty() && solved != pieces_.end()) {
      found = solved->second;
      const fs::path folder = engine_folders(false).front() / "engine";
      fs::create_directories(folder);
      write(folder / piece, found);
    }
    all += found + engine_text(found, learners);
  }
  return all;
}

/// What the program depends on: texts, commands, and when the libraries and precompiled headers were made.
std::string Workshop::stamp(const Kind& kind, const std::string& text) const {
  std::string times;
  std::istringstream words(kind.link);
  for (std::string word; words >> word;)
    if (word.ends_with(".a")) times += time_of(word);
  for (const char* name : {"cmake_pch.hxx.gch", "cmake_pch.hxx.pch"})
    times += time_of(build_ / "lessons/CMakeFiles" /
                     (&kind == &fast_ ? "exercise_fast.dir" : "exercise_checked.dir") / name);
  return fmt::format("{:016x}", hash_of(text + kind.compile + kind.link + times));
}

Program Workshop::make(const Exercise& exercise, const Answer& answer) const {
  const Kind& kind = kind_of(exercise);
  const fs::path folder = folder_of(exercise) / answer.key;
  fs::create_directories(folder);
  const std::string unit =
      fmt::format("#include \"{}\"\n#line {} \"{}\"\n{}", fs::absolute(answer.file).string(),
                  exercise.judge_line, (root_ / exercise.source).string(), exercise.judge);
  write(folder / "judged.cpp", unit);
  const fs::path program = folder / "judged", log = folder / "compiler.txt", stamp_file = folder / "stamp";
  const std::string now = stamp(kind, unit + answer.text + engine_text(unit + answer.text, answer.learners));
  if (content(stamp_file) == now)
    return fs::exists(program) ? Program{program, {}, false, 0} : Program{{}, content(log), false, 0};
  fs::remove(stamp_file);
  fs::remove(program);
  const std::string object = quoted((folder / "judged.o").string());
  const Run made =
      run({"sh", "-c",
           fmt::format("cd {} && {}{} -o {} -c {} && {} {} {}", quoted(kind.folder), kind.compile,
                       includes(answer.learners), object, quoted((folder / "judged.cpp").string()),
                       kind.link.substr(0, kind.link.find('\n')), object + " -o " + quoted(program.string()),
                       kind.link.substr(kind.link.find('\n') + 1))},
          kCompileLimit, {{"LC_ALL", "C"}});
  Program result{{}, made.output, made.interrupted, made.seconds};
  if (made.interrupted || made.timed_out) return result;
  if (!made.ok()) refuse_full_disk(made.output);
  if (made.ok()) result.file = program;
  write(log, made.output);
  write(stamp_file, now);
  return result;
}

Run Workshop::judge(const Exercise& exercise, const Program& program, std::uint64_t seed,
                    const fs::path& finding) const {
  fs::remove(finding);
  return run({program.file.string(), fmt::format("{}", seed), finding.string()}, exercise.limit,
             {{"ASAN_OPTIONS", "detect_leaks=0:handle_abort=1:hard_rss_limit_mb=2000:color=never"}});
}

std::pair<std::string, std::string> Workshop::editor_command(const fs::path& file) const {
  // A precompiled header of one compiler is none of another's, and clangd is one of its own.
  std::string command = checked_.compile;
  const std::size_t header = command.find("-Winvalid-pch");
  if (header != std::string::npos) command.erase(header);
  return {checked_.folder, command + includes(true) + " -o answer.o -c " + quoted(file.string())};
}

}  // namespace tapestry::grader
