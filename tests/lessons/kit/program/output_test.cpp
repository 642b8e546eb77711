// Printing while an Output lives: the same bytes, in the same order; and streams that are closed.
#include "lessons/kit/program/output.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

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

#if defined(__GLIBC__) && defined(__GLIBCXX__)
TEST_CASE("a file that is opened later never gets the number of a stream that was closed", "[kit]") {
  for (int closed = 1; closed < 8; ++closed) {
    CAPTURE(closed);
    const pid_t child = ::fork();
    if (child == 0) {
      for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if ((closed >> descriptor) % 2 == 1) ::close(descriptor);
      }
      const Output output;
      ::_exit(::open("/dev/null", O_RDONLY) > STDERR_FILENO ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
}
#endif

}  // namespace tapestry::kit
