#include "lessons/kit/program/project_file.hpp"

#include "lessons/kit/program/options.hpp"

namespace tapestry::kit {

std::filesystem::path project_file(const std::filesystem::path& name) {
  const std::filesystem::path here = project_folder() / name;
  return std::filesystem::exists(here) ? here : std::filesystem::path(TAPESTRY_BUILT_FROM) / name;
}

}  // namespace tapestry::kit
