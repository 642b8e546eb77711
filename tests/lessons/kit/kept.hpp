// Whole outputs beside the ones that are kept in files, which were looked at and found right.
//
// After a change that is meant, TAPESTRY_KEPT=folder writes there what comes out now: look at it, then copy
// it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace tapestry::kit {

/// The first line of `now` that differs from the file `name` in tests/lessons, unless same(before, now) takes
/// the two for the same; "" where none does.
template <typename Same>
std::string difference(const std::string& name, const std::string& now, const Same& same) {
  if (const char* folder = std::getenv("TAPESTRY_KEPT")) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << now;
  }
  std::ifstream kept(std::filesystem::path(TAPESTRY_SOURCE_DIR) / "tests/lessons" / name, std::ios::binary);
  if (!kept) return "there is no " + name;
  std::istringstream lines(now);
  std::string before, line;
  for (int number = 1;; ++number) {
    const bool more = static_cast<bool>(std::getline(kept, before));
    if (static_cast<bool>(std::getline(lines, line)) != more)
      return name + (more ? " ends before: " + before : " goes on with: " + line);
    if (!more) return "";
    if (before != line && !same(before, line))
      return name + ":" + std::to_string(number) + "\n  kept " + before + "\n  now  " + line;
  }
}
inline std::string difference(const std::string& name, const std::string& now) {
  return difference(name, now, [](const std::string&, const std::string&) { return false; });
}

}  // namespace tapestry::kit
