// Files read whole, and written so that a reader sees the old file or the new one, never half of it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace tapestry {

/// The bytes of a regular file. Throws Error with the path and the system's reason: not there, not readable,
/// a folder, a device, shorter than it said.
std::vector<std::byte> read_file(const std::filesystem::path& path);

/// Writes the parts, one after the other, to a file beside `path`, syncs it, renames it over `path` and syncs
/// the folder: after a crash at any moment `path` holds the old bytes or the new ones. Where `path` is a
/// symbolic link, all this happens where it leads to, and the link stays. Throws Error with the path and the
/// system's reason; then nothing stands beside `path`, and what was there before is untouched.
void write_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts);
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace tapestry
