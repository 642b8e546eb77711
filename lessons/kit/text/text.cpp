// Reading of text files: lines, words, and parallel text in two languages.
#include "lessons/kit/text/text.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "lessons/kit/program/usage_error.hpp"

namespace tapestry::kit {
namespace {

namespace fs = std::filesystem;

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

/// Appends sentences first … first + parts − 1, with indices modulo the length of the text, joined into one.
void add_joined(ParallelText& to, const ParallelText& text, std::size_t first, std::size_t parts,
                const Joint& joint) {
  Words source, target;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t at = (first + i) % text.source.size();
    if (i > 0) append(source, joint.source);
    if (i > 0) append(target, joint.target);
    append(source, text.source[at]);
    append(target, text.target[at]);
  }
  to.source.push_back(std::move(source));
  to.target.push_back(std::move(target));
}

std::vector<Words> sentences(const fs::path& path) {
  std::vector<Words> all;
  for (const std::string& line : read_lines(path)) {
    all.push_back(split_words(line));
    if (all.back().empty()) {
      throw UsageError(
          fmt::format("{}:{}: the line is empty; each line must be a sentence", path.string(), all.size()));
    }
  }
  if (all.empty()) throw UsageError(fmt::format("'{}' is empty", path.string()));
  return all;
}

}  // namespace

std::vector<std::string> read_lines(const fs::path& path) {
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  LineReader reader(path);
  while (std::optional<std::string> line = reader.next()) {
    bytes += line->size() + 1;
    if (bytes > kMostBytesInFile)
      throw UsageError(fmt::format("'{}' must have at most {} MiB; split the text into smaller files",
                                   reader.origin(), kMostBytesInFile >> 20));
    lines.push_back(std::move(*line));
  }
  return lines;
}

void for_each_line(const fs::path& path,
                   const std::function<void(std::string_view line, std::size_t number)>& take) {
  LineReader reader(path);
  while (const std::optional<std::string> line = reader.next()) take(*line, reader.number());
}

ParallelText joined(const ParallelText& text, std::size_t parts, const Joint& joint) {
  ParallelText result;
  for (std::size_t first = 0; parts > 0 && first + parts <= text.source.size(); first += parts)
    add_joined(result, text, first, parts, joint);
  return result;
}

ParallelText with_joined(const ParallelText& text, double share, const Joint& joint) {
  ParallelText result = text;
  const auto count = static_cast<std::size_t>(share * static_cast<double>(text.source.size()));
  std::size_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t parts = 2 + i % 2;
    add_joined(result, text, next, parts, joint);
    next += parts;
  }
  return result;
}

ParallelText read_parallel(const fs::path& folder, const std::string& name,
                           const std::string& source_language, const std::string& target_language) {
  const fs::path source = folder / (name + "." + source_language);
  const fs::path target = folder / (name + "." + target_language);
  ParallelText text{sentences(source), sentences(target)};
  if (text.source.size() != text.target.size()) {
    throw UsageError(fmt::format("'{}' has {} lines and '{}' has {}; each line must have its translation",
                                 source.string(), text.source.size(), target.string(), text.target.size()));
  }
  return text;
}

}  // namespace tapestry::kit
