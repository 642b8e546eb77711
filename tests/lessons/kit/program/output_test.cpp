// Printing while an Output lives: the same bytes, in the same order.
#include "lessons/kit/program/output.hpp"

#include "tests/catch.hpp"
#include "tests/lessons/kit/printed.hpp"

namespace tapestry::kit {

TEST_CASE("what was printed before, meanwhile and afterwards comes in this order", "[kit]") {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    std::string text;
    {
      const Printed printed(descriptor);
      std::FILE*& file = descriptor == STDOUT_FILENO ? stdout : stderr;
      std::ostream& stream = descriptor == STDOUT_FILENO ? std::cout : std::cerr;
      std::fputs("before, ", file);  // without a line's end: it stays in the buffer
      {
        Output output;
        std::fputs("file, ", file);
        stream << "stream, ";
        std::fputs("file again, ", file);
        CHECK_FALSE(output.lost());
      }
      stream << "after, ";
      std::fputs("and last", file);
      text = printed.text();
    }
    CHECK(text == "before, file, stream, file again, after, and last");
  }
}

}  // namespace tapestry::kit
