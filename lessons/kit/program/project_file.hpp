// Files of the project that a lesson reads when the reader names none.
#pragma once

#include <filesystem>

namespace tapestry::kit {

/// Returns the path of a file or folder of the project, which is named from the project's root. It is in
/// project_folder(), or, for a program that was started elsewhere, in the project from which it was built.
std::filesystem::path project_file(const std::filesystem::path& name);

}  // namespace tapestry::kit
