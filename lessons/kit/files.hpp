// Writing a file so that a reader sees the old one or the new one, never half of it.
#pragma once

#include <filesystem>
#include <string_view>

namespace tapestry::kit {

/// Writes `content` beside `path`, syncs it, renames it over `path` and syncs the folder. Throws UsageError
/// with the path and the system's reason; what stood at `path` before is then untouched.
void write_atomically(const std::filesystem::path& path, std::string_view content);

/// Creates the folder `path` with its parents and tries that a file can be written there. Throws UsageError.
void make_writable_folder(const std::filesystem::path& path);

}  // namespace tapestry::kit
