// A small matrix as it is printed.
#include "lessons/kit/rows.hpp"

#include <string>

#include "core/core.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/printed.hpp"

namespace tapestry::kit {

TEST_CASE("a matrix is printed row by row, with its name before the first", "[kit]") {
  const Tensor x = reshape(tensor({1, -2.5, 3, 40.5, 5, 6}), {2, 3});
  std::string text;
  {
    const Printed printed(STDOUT_FILENO);
    print_rows("é, name", x, 1);
    text = printed.text();
  }
  CHECK(text ==
        "  é, name       1.0   -2.5    3.0\n"
        "               40.5    5.0    6.0\n");
}

}  // namespace tapestry::kit
