// Reads and maps whole files, and replaces files atomically: a reader sees either the old bytes or the new ones, never
// a mixture.
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
  std::span<const std::byte> bytes;   // the contents; read-only
};

/// Maps a regular file into memory, so that the system loads each page when it is first used. Throws Error if the file
/// does not exist, is not readable or is not a regular file. The mapping keeps the old bytes if write_file() replaces
/// the file. But if another program truncates the file in place, reading the lost bytes ends this program (SIGBUS).
MappedFile map_file(const std::filesystem::path& path);

/// Creates or replaces a file. Writes the parts in order to a file in the same folder, named as `path` with ".new" at
/// the end, syncs this file, renames it to `path` and syncs the directory. So after a crash at any moment, `path` has
/// either the old bytes or the new ones. If `path` is a symbolic link, its target is replaced and the link is kept.
///
/// Throws Error with the path and the system's reason. If this fails before or at the rename, `path` is unchanged; the
/// new file is removed if writing had begun. If only the last sync fails, `path` already has the new bytes.
void write_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts);
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace tapestry
