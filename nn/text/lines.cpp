#include "nn/text/lines.hpp"

#include <span>

#include "core/io/file.hpp"
#include "core/io/text.hpp"

namespace tapestry {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

void check_line(std::string_view line, std::string_view where, std::size_t number) {
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t length = utf8_length(line.substr(at));
    if (length == 0)
      fail_in_line(where, number, "invalid UTF-8 (byte 0x{:02x} at byte {} of the line): save it as UTF-8",
                   static_cast<unsigned char>(line[at]), at + 1);
    if (line[at] == '\0')
      fail_in_line(where, number, "a NUL byte at byte {} of the line: the file must be text", at + 1);
    at += length;
  }
}

std::string read_text(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

std::vector<std::string_view> lines_of(std::string_view text, std::string_view where) {
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    check_line(line, where, lines.size() + 1);
    lines.push_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace tapestry
