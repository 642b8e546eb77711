// Files in a folder of one test; and the message of what a test makes throw.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "lessons/kit/program/usage_error.hpp"
#include "tests/message_of.hpp"
#include "tests/temporary.hpp"

namespace tapestry::kit {

class Scratch {
 public:
  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder()), {}));
  }

 private:
  test::TemporaryFolder folder_;
};

/// The message of the UsageError that `action` throws.
template <typename Action>
std::string usage_error(const Action& action) {
  return test::message_of<UsageError>(action);
}

}  // namespace tapestry::kit
