// Text files as lines, each checked.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/error.hpp"

namespace tapestry {

/// The bytes of a file as text. Throws Error as read_file() does.
std::string read_text(const std::filesystem::path& path);
/// Writes it at once or not at all (write_file()).
void write_text(const std::filesystem::path& path, std::string_view text);

/// The lines of `text` without their ends ("\n" or "\r\n"; the last one may lack it; a byte-order mark is
/// skipped). Throws Error with `where` and the line for a NUL byte or invalid UTF-8.
std::vector<std::string_view> lines_of(std::string_view text, std::string_view where);

/// Throws Error with `where` and the line's number for a NUL byte or invalid UTF-8 in it.
void check_line(std::string_view line, std::string_view where, std::size_t number);

/// Throws Error "where:line: why".
template <class... Args>
[[noreturn]] void fail_in_line(std::string_view where, std::size_t line, fmt::format_string<Args...> format,
                               Args&&... args) {
  fail("{}:{}: {}", where, line, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tapestry
