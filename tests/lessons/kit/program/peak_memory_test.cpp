// The process's peak memory.
#include "lessons/kit/program/peak_memory.hpp"

#include <vector>

#include "tests/catch.hpp"

TEST_CASE("peak memory grows with what was touched, and does not shrink", "[kit]") {
  const double before = tapestry::kit::peak_memory();
  CHECK(before > 1);
  {
    std::vector<char> block(std::size_t{256} << 20, 'x');
    CHECK(block[block.size() / 2] == 'x');
  }
  const double after = tapestry::kit::peak_memory();
  CHECK(after >= 256);
  CHECK(after >= before);
}
