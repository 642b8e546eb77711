// A lock on a folder that waits until no other process or thread holds it.
#pragma once

#include <filesystem>
#include <utility>

namespace tapestry::grader {

/// RAII lock on a folder. Other processes, and other threads of this process, wait in the constructor. On a file system
/// without locks it does not lock.
class FolderLockGuard {
 public:
  FolderLockGuard() = default;
  /// Creates the folder and waits for the lock. Gives up when interrupted() becomes true.
  explicit FolderLockGuard(const std::filesystem::path& folder);
  ~FolderLockGuard() { release(); }
  FolderLockGuard(FolderLockGuard&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FolderLockGuard& operator=(FolderLockGuard&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

 private:
  void release();

  int descriptor_ = -1;
};

}  // namespace tapestry::grader
