#include "lessons/grader/compiler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "core/tensor/error.hpp"
#include "lessons/grader/interrupt.hpp"
#include "lessons/kit/program/files.hpp"

namespace tapestry::grader {

namespace {

namespace fs = std::filesystem;

constexpr double kCompileLimit = 120;                 // seconds
constexpr std::uint64_t kMostMemory = 2'000'000'000;  // bytes

/// Quotes a word for the shell.
std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Splits a command without expansions into words as a POSIX shell does.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  char quote = 0;
  bool open = false;  // inside a word
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == 0 && (c == ' ' || c == '\n')) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    else if (c == '\\' && quote != '\'' && i + 1 < command.size())
      words.back() += command[++i];
    else
      words.back() += c;
  }
  return words;
}

/// Returns the 64-bit FNV-1a hash.
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

/// Throws Error if the compiler or linker failed because it could not write; the answer is not at fault then.
void refuse_full_disk(const std::string& output) {
  for (const char* sign : {"No space left on device", "File too large", "Disk quota exceeded"})
    if (const std::size_t at = output.find(sign); at != std::string::npos) {
      const std::size_t begin = output.rfind('\n', at) + 1;
      fail("the compiler could not write the program of your answer; the disk may be full. It says: {}",
           output.substr(begin, output.find('\n', at) - begin));
    }
}

}  // namespace

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Compiler::Compiler(fs::path root, fs::path build) : root_(std::move(root)), build_(std::move(build)) {
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
      kind.command = command.substr(0, output);
      kind.compile = words_of(kind.command);
      std::ifstream list(build_ / "lessons/grader" / (fast ? "link_fast.txt" : "link_checked.txt"));
      std::vector<std::string>* words = &kind.link;
      for (std::string line; std::getline(list, line);)
        if (line.empty())
          words = &kind.libraries;
        else
          words->push_back(line);
    }
  if (checked_.compile.empty() || fast_.compile.empty() || checked_.libraries.empty() ||
      fast_.libraries.empty())
    fail(
        "{} must have the commands that compile answers; build the target \"practise\" there, or start with "
        "lessons/practise",
        build_.string());
}

fs::path Compiler::folder_of(const Exercise& exercise) const {
  return build_ / "practise" / exercise.id.text();
}

Answer Compiler::variant(const Exercise& exercise, const std::string& key, const std::string& text) const {
  const fs::path file = folder_of(exercise) / key / "answer.cpp";
  fs::create_directories(file.parent_path());
  write(file, text);
  return {file, text, key};
}

void Compiler::set_engine_solutions(const std::vector<Exercise>& exercises) {
  for (const Exercise& exercise : exercises)
    if (!exercise.piece.empty()) pieces_[exercise.piece] = "#pragma once\n" + exercise.solution();
}

/// Returns the learner's piece or, where there is none, the solution, which it also writes to a folder for editors.
std::string Compiler::engine_piece(const std::string& piece, bool learners) const {
  std::string found = learners ? content(root_ / "practise/engine" / piece) : "";
  if (const auto solved = pieces_.find(piece); found.empty() && solved != pieces_.end()) {
    found = solved->second;
    const fs::path folder = build_ / "practise/reference/engine";
    fs::create_directories(folder);
    write(folder / piece, found);
  }
  return found;
}

/// Returns a header that the text of an answer includes and the learner may change.
std::optional<SourceText> Compiler::header(const std::string& name, const Answer& answer) const {
  const bool engine = name.starts_with("engine/");
  const fs::path beside = answer.file.parent_path() / name;
  std::error_code none;
  if (!engine && !(answer.learners && fs::is_regular_file(beside, none))) return {};
  SourceText found{(engine ? root_ / "practise" / name : beside).string(),
                   engine ? engine_piece(name.substr(7), answer.learners) : content(beside)};
  if (found.text.empty()) return {};
  return found;
}

/// Returns a hash of everything the program depends on: texts, commands, and the times of libraries and precompiled
/// headers.
std::string Compiler::stamp(const Kind& kind, const std::string& text) const {
  std::string times;
  for (const std::string& word : kind.libraries)
    if (word.ends_with(".a")) times += time_of(word);
  for (const char* name : {"cmake_pch.hxx.gch", "cmake_pch.hxx.pch"})
    times += time_of(build_ / "lessons/CMakeFiles" /
                     (&kind == &fast_ ? "exercise_fast.dir" : "exercise_checked.dir") / name);
  return fmt::format(
      "{:016x}",
      hash_of(text + kind.command +
              fmt::format("{}{}", fmt::join(kind.link, " "), fmt::join(kind.libraries, " ")) + times));
}

Program Compiler::make(const Exercise& exercise, const Answer& answer) const {
  const Kind& kind = kind_of(exercise);
  const fs::path folder = folder_of(exercise) / answer.key, texts_folder = folder / "texts";
  Program result;
  result.lock = FolderLockGuard(folder);
  result.interrupted = interrupted();
  if (result.interrupted) return result;

  const JudgedText texts = judged_text(exercise, {fs::absolute(answer.file).string(), answer.text},
                                       (root_ / exercise.source).string(),
                                       [&](const std::string& name) { return header(name, answer); });
  if (!texts.error.empty()) {
    result.output = texts.error;
    return result;
  }
  std::string all;
  for (const auto& [name, text] : texts.files) all += name + '\n' + text;
  const fs::path program = folder / "judged", log = folder / "compiler.txt", stamp_file = folder / "stamp";
  const std::string now = stamp(kind, all);
  if (content(stamp_file) == now) {
    if (fs::exists(program))
      result.file = program;
    else
      result.output = content(log);
    return result;
  }
  fs::remove(stamp_file);
  fs::remove(program);
  fs::remove_all(texts_folder);
  for (const auto& [name, text] : texts.files) {
    fs::create_directories((texts_folder / name).parent_path());
    write(texts_folder / name, text);
  }
  // Temporary names with the process id: a compiler left running by a killed check cannot overwrite a later program.
  const fs::path object = folder / fmt::format("made_{}.o", getpid()),
                 made = folder / fmt::format("made_{}", getpid());
  std::vector<std::string> compile = kind.compile, link = kind.link;
  compile.insert(compile.end(), {"-I" + texts_folder.string(), "-o", object.string(), "-c",
                                 (texts_folder / "judged.cpp").string()});
  link.insert(link.end(), {object.string(), "-o", made.string()});
  link.insert(link.end(), kind.libraries.begin(), kind.libraries.end());
  Run run;
  for (const std::vector<std::string>& words : {compile, link}) {
    run = grader::run(words, kCompileLimit - result.seconds,
                      {.environment = {{"LC_ALL", "C"}}, .folder = kind.folder});
    result.output += run.output;
    result.seconds += run.seconds;
    if (!run.ok()) break;
  }
  fs::remove(object);
  result.interrupted = run.interrupted;
  result.timed_out = run.timed_out;
  if (!run.ok()) {
    fs::remove(made);
    if (run.interrupted || run.timed_out) return result;
    refuse_full_disk(result.output);
  } else {
    fs::rename(made, program);
    result.file = program;
  }
  write(log, result.output);
  write(stamp_file, now);
  return result;
}

Compiler::Judged Compiler::judge(const Exercise& exercise, const Program& program, std::uint64_t seed) const {
  // The program reads the file's name and a key from standard input, so that only the judge's own finding counts.
  const fs::path file = program.file.parent_path() / "finding.json";
  const std::string key =
      fmt::format("{:016x}", std::random_device{}() * std::uint64_t{0x9e3779b97f4a7c15} + seed);
  fs::remove(file);
  RunOptions options{
      .environment = {{"ASAN_OPTIONS", "detect_leaks=0:handle_abort=1:hard_rss_limit_mb=2000:color=never"}},
      .input = fmt::format("{}\n{}\n{}\n", seed, file.string(), key)};
  if (exercise.fast)
    options.memory = kMostMemory;  // AddressSanitizer has its own limit and reserves more than this
  Judged judged{run({program.file.string()}, exercise.limit, options), {}};
  const std::string found = content(file);
  if (found.starts_with(key + '\n')) judged.finding = found.substr(key.size() + 1);
  return judged;
}

std::pair<std::string, std::string> Compiler::editor_command(const fs::path& file) const {
  // Leave out the precompiled header: clangd cannot read one made by another compiler.
  std::string command = checked_.command;
  const std::size_t header = command.find("-Winvalid-pch");
  if (header != std::string::npos) command.erase(header);
  for (const fs::path& folder :
       {root_ / "practise", build_ / "practise/reference"})  // the learner's pieces first
    command += " -I" + quoted(fs::absolute(folder).string());
  return {checked_.folder, command + " -o answer.o -c " + quoted(file.string())};
}

}  // namespace tapestry::grader
