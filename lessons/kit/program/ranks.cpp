#include "lessons/kit/program/ranks.hpp"

#include <fmt/format.h>
#include <unistd.h>  // mkdtemp on a Mac

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <system_error>

#include "lessons/kit/program/usage_error.hpp"

namespace tapestry::kit {

Communicator& Ranks::communicator() const {
  static OneRank alone;
  return wire == nullptr ? alone : *wire;
}

BackRoom::BackRoom() {
  for (const char* name : {"TAPESTRY_PASSED", "TAPESTRY_ANSWERS"}) unsetenv(name);
  std::string name = (std::filesystem::temp_directory_path() / "tapestry-rank-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr || std::freopen("/dev/null", "w", stdout) == nullptr)
    throw UsageError(fmt::format("a rank has no room to work in: cannot make {}", name));
  std::cerr.rdbuf(nullptr);
  folder_ = name;
}

BackRoom::~BackRoom() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace tapestry::kit
