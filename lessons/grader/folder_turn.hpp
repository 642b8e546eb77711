// A lock on a folder, held by one process at a time.
#pragma once

#include <filesystem>
#include <utility>

namespace tapestry::grader {

/// RAII lock on a folder. Other processes, and other threads of this process, wait in the constructor. On a file system
/// without locks it does not lock.
class FolderTurn {
 public:
  FolderTurn() = default;
  /// Creates the folder and waits for the lock. Gives up when interrupted() becomes true.
  explicit FolderTurn(const std::filesystem::path& folder);
  ~FolderTurn() { release(); }
  FolderTurn(FolderTurn&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FolderTurn& operator=(FolderTurn&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

 private:
  void release();

  int descriptor_ = -1;
};

}  // namespace tapestry::grader
