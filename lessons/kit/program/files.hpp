// Atomic file writes, so that readers never see a partial file, and a lock that gives a folder to one run at a time.
#pragma once

#include <filesystem>
#include <string_view>

namespace tapestry::kit {

/// Replaces `path` with `content` atomically: writes a temporary file in the same folder, syncs it, renames it and
/// syncs the folder. Throws UsageError with the path and the system's reason; the old file is then unchanged.
void write_atomically(const std::filesystem::path& path, std::string_view content);

/// Creates the file `path` with `content` atomically. Returns false, and changes nothing, if `path` already exists,
/// even if another process created it during the call. Throws UsageError with the path and the system's reason.
bool create_atomically(const std::filesystem::path& path, std::string_view content);

/// Creates the folder `path` with its parents and checks that a file can be written there. Throws UsageError if not.
void make_writable_folder(const std::filesystem::path& path);

/// Appends `text` to a file, which is created if necessary. Throws UsageError with the path and the system's reason.
void append(const std::filesystem::path& path, std::string_view text);

/// Exclusive lock on a folder for the lifetime of this object. The system releases it when the process ends, even after
/// a crash. A folder that does not exist, or whose file system has no locks, is not locked.
class FolderLock {
 public:
  /// Throws UsageError with the folder if another run holds the lock.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace tapestry::kit
