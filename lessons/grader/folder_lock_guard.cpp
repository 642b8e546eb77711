#include "lessons/grader/folder_lock_guard.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "lessons/grader/interrupt.hpp"

namespace tapestry::grader {

FolderLockGuard::FolderLockGuard(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR && !interrupted()) {
  }
}

void FolderLockGuard::release() {
  if (descriptor_ < 0) return;
  ::flock(descriptor_,
          LOCK_UN);  // explicit, since a keeper process (process.cpp) may have a copy of the descriptor
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace tapestry::grader
