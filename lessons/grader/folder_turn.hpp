// One process at a time in a folder.
#pragma once

#include <filesystem>
#include <utility>

namespace tapestry::grader {

/// Holds a folder while it lives: other processes, and other threads of this one, wait in the constructor. Where the file
/// system has no locks, no one waits.
class FolderTurn {
 public:
  FolderTurn() = default;
  /// Creates the folder and waits for it. Gives up when interrupted() becomes true.
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
