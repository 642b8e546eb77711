#include "lessons/kit/program/ranks.hpp"

#include <fmt/format.h>
#include <unistd.h>  // mkdtemp on macOS

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>

#include "core/io/text.hpp"
#include "lessons/kit/program/usage_error.hpp"
#include "optim/parallel/collectives.hpp"

namespace tapestry::kit {

void expect_same(Communicator& ranks, const std::string& must, const std::vector<std::string>& facts) {
  if (ranks.size() == 1) return;
  constexpr std::size_t kLongest = 100;  // of a fact in the message, in bytes
  const auto lines = [](std::string_view text) {
    std::vector<std::string_view> found;
    for (std::size_t end = text.find('\0'); end != std::string_view::npos; end = text.find('\0')) {
      found.push_back(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    return found;
  };
  std::string mine;
  for (const std::string& fact : facts) mine += fact + '\0';
  const std::vector<std::string> all = gather(ranks, mine);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const auto here = lines(all[0]), there = lines(all[rank]);
    const auto [one, other] = std::mismatch(here.begin(), here.end(), there.begin(), there.end());
    if (one == here.end() && other == there.end()) continue;
    const auto shown = [](auto fact, auto end) {
      return fact == end ? std::string("nothing") : tapestry::printable(*fact, kLongest);
    };
    throw UsageError(fmt::format("{}; rank 0 has {} and rank {} has {}", must, shown(one, here.end()), rank,
                                 shown(other, there.end())));
  }
  broadcast(ranks, 0);  // no rank continues before rank 0 has compared the facts
}

Communicator& Ranks::communicator() const {
  static OneRank alone;
  return wire == nullptr ? alone : *wire;
}

SilentScope::SilentScope() {
  for (const char* name : {"TAPESTRY_PASSED", "TAPESTRY_ANSWERS"}) unsetenv(name);
  std::string name = (std::filesystem::temp_directory_path() / "tapestry-rank-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr || std::freopen("/dev/null", "w", stdout) == nullptr)
    throw UsageError(fmt::format("cannot create the temporary folder '{}' of a rank", name));
  std::cerr.rdbuf(nullptr);
  folder_ = name;
}

SilentScope::~SilentScope() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace tapestry::kit
