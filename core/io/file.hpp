// Reads and maps whole files, and replaces files atomically: a reader sees the old bytes or the new ones, never a mix.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace tapestry {

/// Returns the bytes of a regular file. Throws Error with the path and the system's reason if the file does not
/// exist, is not readable, is a directory or a device, or is shorter than its reported size.
std::vector<std::byte> read_file(const std::filesystem::path& path);

/// The bytes of a file in memory, valid for as long as a copy of `owner` exists.
struct MappedFile {
  std::shared_ptr<const void> owner;  // null for an empty file
  std::span<const std::byte> bytes;   // read-only
};

/// Maps a regular file into memory: the system loads a page when it is first used. Throws Error as read_file() does.
/// The mapping keeps the old bytes if write_file() replaces the file. If another program shortens the file in place,
/// a use of the lost bytes ends this program.
MappedFile map_file(const std::filesystem::path& path);

/// Writes the parts in order to `path`.new, syncs that file, renames it to `path` and syncs the directory.
/// After a crash at any moment `path` has the old bytes or the new ones. A symbolic link is followed and kept:
/// its target is replaced. Throws Error with the path and the system's reason; if anything before the rename fails,
/// `path` is unchanged and the new file is removed.
void write_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts);
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace tapestry
