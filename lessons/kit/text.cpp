// Text files: lines, words, and two files that are translations of each other.
#include "lessons/kit/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

#include "lessons/kit/usage_error.hpp"
#include "lessons/kit/utf8.hpp"

namespace tapestry::kit {
namespace {

namespace fs = std::filesystem;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::size_t count_words(std::string_view line) {
  std::size_t words = 0;
  bool inside = false;
  for (const char c : line) {
    words += (!is_space(c) && !inside) ? 1 : 0;
    inside = !is_space(c);
  }
  return words;
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open_text(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    throw UsageError(fmt::format("cannot read '{}': no such file", path.string()));
  }
  if (error) throw UsageError(fmt::format("cannot read '{}': {}", path.string(), error.message()));
  if (fs::is_directory(status)) {
    throw UsageError(fmt::format("cannot read '{}': it is a folder, not a text file", path.string()));
  }
  if (!fs::is_regular_file(status)) {
    throw UsageError(fmt::format("cannot read '{}': it is not a regular file", path.string()));
  }
  File file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) throw UsageError(fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno)));
  return file;
}

/// Hands the file over piece by piece.
template <typename Take>
void read_pieces(const fs::path& path, Take take) {
  const File file = open_text(path);
  std::vector<char> piece(std::size_t{1} << 16);
  while (const std::size_t bytes = std::fread(piece.data(), 1, piece.size(), file.get()))
    take(std::string_view(piece.data(), bytes));
  if (std::ferror(file.get()) != 0) {
    throw UsageError(fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno)));
  }
}

std::string read_whole(const fs::path& path) {
  std::string text;
  read_pieces(path, [&](std::string_view piece) {
    text.append(piece);
    if (text.size() > kMostBytesInFile) {
      throw UsageError(fmt::format("'{}' is larger than {} MiB: too large for a text", path.string(),
                                   kMostBytesInFile >> 20));
    }
  });
  return text;
}

void check_line(std::string_view line, const std::string& origin, std::size_t number) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("{}:{}: {}", origin, number, why));
  };
  if (line.size() > kMostBytesInLine) {
    refuse(fmt::format("the line has {} bytes, more than the limit of {}", line.size(), kMostBytesInLine));
  }
  if (const std::size_t nul = line.find('\0'); nul != std::string_view::npos) {
    refuse(fmt::format("a NUL byte at byte {} of the line: this is not a text file", nul + 1));
  }
  if (const auto bad = invalid_utf8_at(line)) {
    refuse(fmt::format("invalid UTF-8 (byte 0x{:02x} at byte {} of the line): save the file as UTF-8",
                       static_cast<unsigned char>(line[*bad]), *bad + 1));
  }
  if (const std::size_t words = count_words(line); words > kMostWordsInLine) {
    refuse(fmt::format("the line has {} words, more than the limit of {}", words, kMostWordsInLine));
  }
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The line without its "\r", checked.
std::string_view checked(std::string_view line, const std::string& origin, std::size_t number) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  check_line(line, origin, number);
  return line;
}

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

/// Sentences first … first + parts − 1, counted round the text, as one.
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

std::vector<std::string> lines_of(std::string_view text, const std::string& origin) {
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(checked(text.substr(0, end), origin, lines.size() + 1));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::vector<std::string> read_lines(const fs::path& path) {
  return lines_of(read_whole(path), path.string());
}

void for_each_line(const fs::path& path,
                   const std::function<void(std::string_view line, std::size_t number)>& take) {
  const std::string origin = path.string();
  std::string line;
  std::size_t number = 1;
  const auto give = [&] {
    std::string_view whole = line;
    if (number == 1 && whole.substr(0, kByteOrderMark.size()) == kByteOrderMark)
      whole.remove_prefix(kByteOrderMark.size());
    take(checked(whole, origin, number), number);
    ++number;
    line.clear();
  };
  read_pieces(path, [&](std::string_view piece) {
    for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
      line.append(piece.substr(0, end));
      piece.remove_prefix(end + 1);
      give();
    }
    line.append(piece);
    if (line.size() > kMostBytesInLine) check_line(line, origin, number);  // before it eats the memory
  });
  if (!line.empty()) give();
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
    throw UsageError(fmt::format("'{}' has {} lines and '{}' has {}: line by line they must be translations",
                                 source.string(), text.source.size(), target.string(), text.target.size()));
  }
  return text;
}

}  // namespace tapestry::kit
