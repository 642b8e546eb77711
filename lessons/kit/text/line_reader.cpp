// Reader that checks the lines of text files and of standard input one by one.
#include "lessons/kit/text/line_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kPiece = std::size_t{1} << 16;  // bytes per read

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

[[noreturn]] void cannot_read(const std::string& path, const std::string& why) {
  throw UsageError(fmt::format("cannot read '{}': {}", path, why));
}

int open_text(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) cannot_read(path.string(), "no such file");
  if (error) cannot_read(path.string(), error.message());
  if (fs::is_directory(status)) cannot_read(path.string(), "it is a folder, not a text file");
  if (!fs::is_regular_file(status)) cannot_read(path.string(), "it is not a regular file");
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) cannot_read(path.string(), std::strerror(errno));
  return descriptor;
}

}  // namespace

std::string_view checked_line(std::string_view line, std::string_view origin, std::size_t number) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("{}:{}: {}", origin, number, why));
  };
  if (line.size() > kMostBytesInLine)
    refuse(fmt::format("the line has more bytes than the limit of {}", kMostBytesInLine));
  if (const std::size_t nul = line.find('\0'); nul != std::string_view::npos)
    refuse(fmt::format("a NUL byte at byte {} of the line; the file must be a text file", nul + 1));
  if (const auto bad = invalid_utf8_at(line))
    refuse(fmt::format("invalid UTF-8 (byte 0x{:02x} at byte {} of the line); save the file as UTF-8",
                       static_cast<unsigned char>(line[*bad]), *bad + 1));
  if (const std::size_t words = count_words(line); words > kMostWordsInLine)
    refuse(fmt::format("the line has {} words, more than the limit of {}", words, kMostWordsInLine));
  return line;
}

LineReader::LineReader(const fs::path& path)
    : origin_(path == "-" ? "standard input" : path.string()),
      descriptor_(path == "-" ? STDIN_FILENO : open_text(path)) {}

LineReader::~LineReader() {
  if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
}

void LineReader::fill() {
  searched_ = unread_.size();
  buffer_.erase(0, buffer_.size() - unread_.size());
  const std::size_t kept = buffer_.size();
  buffer_.resize(kept + kPiece);
  ssize_t count = -1;
  do count = ::read(descriptor_, buffer_.data() + kept, kPiece);
  while (count < 0 && errno == EINTR);
  const int error = errno;
  buffer_.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  unread_ = buffer_;
  if (count < 0) cannot_read(origin_, std::strerror(error));
  at_end_ = count == 0;
}

bool LineReader::ready() const {
  if (at_end_) return false;
  pollfd one{descriptor_, POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

std::optional<std::string> LineReader::next() {
  if (!refused_.empty()) throw UsageError(refused_);
  while (!has_line() && !at_end_) {
    if (unread_.size() > kMostBytesInLine + kByteOrderMark.size())  // before the line exhausts the memory
      checked_line(unread_, origin_, number_ + 1);
    fill();
  }
  if (unread_.empty()) return std::nullopt;
  const std::size_t end = unread_.find('\n', searched_);
  std::string_view line = unread_.substr(0, end);
  unread_.remove_prefix(end == std::string_view::npos ? unread_.size() : end + 1);
  searched_ = 0;
  if (number_ == 0 && line.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    line.remove_prefix(kByteOrderMark.size());
    if (line.empty() && end == std::string_view::npos) return std::nullopt;  // the file holds only the mark
  }
  line = checked_line(line, origin_, number_ + 1);
  ++number_;
  return std::string(line);
}

std::vector<std::string> LineReader::group(std::size_t most) {
  std::vector<std::string> lines;
  while (lines.size() < most) {
    if (!lines.empty() && !has_line() && !at_end_) {
      if (!ready()) break;
      fill();
      continue;
    }
    try {
      std::optional<std::string> line = next();
      if (!line) break;
      lines.push_back(std::move(*line));
    } catch (const UsageError& error) {
      if (lines.empty()) throw;
      refused_ = error.what();
      break;
    }
  }
  return lines;
}

std::size_t count_lines(const fs::path& path) {
  LineReader reader(path);
  while (reader.next()) {
  }
  return reader.number();
}

}  // namespace tapestry::kit
