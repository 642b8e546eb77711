// Files of the project, from the project and from elsewhere.
#include "lessons/kit/program/project_file.hpp"

#include <cstdlib>

#include "tests/catch.hpp"

namespace tapestry::kit {

TEST_CASE("a file of the project is found from its root, through TAPESTRY_ROOT, and from elsewhere") {
  CHECK(project_file("README.md") == "README.md");
  setenv("TAPESTRY_ROOT", TAPESTRY_SOURCE_DIR, 1);
  CHECK(project_file("README.md") == TAPESTRY_SOURCE_DIR "/README.md");
  setenv("TAPESTRY_ROOT", TAPESTRY_SOURCE_DIR "/tests", 1);  // has no lessons
  CHECK(project_file("lessons/glossary.md") == TAPESTRY_SOURCE_DIR "/lessons/glossary.md");
  unsetenv("TAPESTRY_ROOT");
}

}  // namespace tapestry::kit
