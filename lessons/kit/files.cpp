#include "lessons/kit/files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <span>
#include <string>
#include <system_error>

#include "core/error.hpp"
#include "core/file.hpp"
#include "lessons/kit/usage_error.hpp"

namespace tapestry::kit {

namespace fs = std::filesystem;

void write_atomically(const fs::path& path, std::string_view content) {
  try {
    write_file(path, std::as_bytes(std::span(content.data(), content.size())));
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

void make_writable_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error)) {
    throw UsageError(fmt::format("cannot create the folder '{}': {}", path.string(),
                                 error ? error.message() : "something else has that name"));
  }
  const fs::path trial = path / fmt::format(".trial-{}", ::getpid());
  write_atomically(trial, "");
  fs::remove(trial, error);
}

}  // namespace tapestry::kit
