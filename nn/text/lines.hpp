// Text files: reading and writing, and splitting into checked lines.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/error.hpp"

namespace tapestry {

/// Returns the bytes of a file as text. Throws Error as read_file() does.
std::string read_text(const std::filesystem::path& path);
/// Writes a text to a file atomically, with write_file().
void write_text(const std::filesystem::path& path, std::string_view text);

/// Splits `text` into lines without their ends ("\n" or "\r\n", optional after the last line). Skips a
/// byte-order mark. Throws Error with `where` and the line number for a NUL byte or invalid UTF-8.
std::vector<std::string_view> lines_of(std::string_view text, std::string_view where);

/// Throws Error with `where` and the line number if `line` contains a NUL byte or invalid UTF-8.
void check_line(std::string_view line, std::string_view where, std::size_t number);

/// Throws Error "where:line: why".
template <class... Args>
[[noreturn]] void fail_in_line(std::string_view where, std::size_t line, fmt::format_string<Args...> format,
                               Args&&... args) {
  fail("{}:{}: {}", where, line, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tapestry
