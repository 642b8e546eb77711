// Files and folders of a run: a file is the old one or the new one to its readers, never half of it; a folder
// belongs to one run at a time.
#pragma once

#include <filesystem>
#include <string_view>

namespace tapestry::kit {

/// Writes `content` beside `path`, syncs it, renames it over `path` and syncs the folder. Throws UsageError
/// with the path and the system's reason; what stood at `path` before is then untouched.
void write_atomically(const std::filesystem::path& path, std::string_view content);

/// Writes `content` to a new file, whole. Returns false, and changes nothing, if something has the name `path` already, also
/// if it got it meanwhile. Throws UsageError with the path and the system's reason.
bool create_atomically(const std::filesystem::path& path, std::string_view content);

/// Creates the folder `path` with its parents and tries that a file can be written there. Throws UsageError.
void make_writable_folder(const std::filesystem::path& path);

/// Adds `text` to the end of a file. Throws UsageError with the path and the system's reason.
void append(const std::filesystem::path& path, std::string_view text);

/// Keeps other runs out of a folder while it lives; when the process ends, however it does, the system lets
/// the folder go. A folder that is not there, or on a file system without locks, is not locked.
class FolderLock {
 public:
  /// Throws UsageError with the folder if another run has it.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace tapestry::kit
