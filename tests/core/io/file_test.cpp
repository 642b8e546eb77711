// Files read whole and written at once; escaping for messages.
#include "core/io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <thread>

#include "core/io/safetensors.hpp"
#include "core/io/text.hpp"
#include "core/tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/failing_calls.hpp"
#include "tests/message_of.hpp"
#include "tests/temporary.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span<const char>(text));
}

std::string text_of(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("file: what was written is read, and replaced at once") {
  const test::TemporaryFolder folder;
  write_file(folder / "a", bytes_of("first"));
  CHECK(text_of(folder / "a") == "first");
  const std::string one = "sec", two = "", three = "ond";
  const std::span<const std::byte> parts[] = {bytes_of(one), bytes_of(two), bytes_of(three)};
  write_file(folder / "a", parts);
  CHECK(text_of(folder / "a") == "second");
  write_file(folder / "empty", bytes_of(""));
  CHECK(read_file(folder / "empty").empty());
}

TEST_CASE("file: what was left beside it by a process that was killed is taken over") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "a.new") << "half of a much longer file";
  write_file(folder / "a", bytes_of("whole"));
  CHECK(text_of(folder / "a") == "whole");
  CHECK_FALSE(std::filesystem::exists(folder / "a.new"));
}

TEST_CASE("file: what is no file is neither waited for nor replaced", "[system]") {
  const test::TemporaryFolder folder;
  const auto writing = [](const std::filesystem::path& path) {
    return message_of([&] { write_file(path, bytes_of("x")); });
  };
  const auto in_the_way = ContainsSubstring("/a.new' exists and is not a regular file");
  write_file(folder / "a", bytes_of("old"));
  REQUIRE(::mkfifo((folder / "a.new").c_str(), 0600) == 0);
  CHECK_THAT(writing(folder / "a"), in_the_way);
  const int reader = ::open((folder / "a.new").c_str(), O_RDONLY | O_NONBLOCK);
  CHECK_THAT(writing(folder / "a"), in_the_way);  // somebody listens
  ::close(reader);
  std::filesystem::remove(folder / "a.new");
  std::filesystem::create_symlink("b", folder / "a.new");
  write_file(folder / "b", bytes_of("another's"));
  CHECK_THAT(writing(folder / "a"), in_the_way);
  CHECK(text_of(folder / "b") == "another's");
  CHECK(text_of(folder / "a") == "old");
  CHECK(std::filesystem::is_symlink(folder / "a.new"));

  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(writing(folder / "pipe"),
             ContainsSubstring("/pipe'") && ContainsSubstring("not a regular file"));
  CHECK(std::filesystem::is_fifo(folder / "pipe"));
}

TEST_CASE("file: a link stays a link, and its target is replaced at once", "[system]") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "disk/deep");
  write_file(folder / "disk/real", bytes_of("old"));
  std::filesystem::create_symlink("disk/real", folder / "link");
  std::filesystem::create_symlink(folder / "link", folder / "second");
  write_file(folder / "second", bytes_of("new"));
  CHECK(std::filesystem::is_symlink(folder / "second"));
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK_FALSE(std::filesystem::is_symlink(folder / "disk/real"));
  CHECK(text_of(folder / "disk/real") == "new");

  std::filesystem::create_symlink("../unborn", folder / "disk/deep/link");  // seen from where it stands
  write_file(folder / "disk/deep/link", bytes_of("born"));
  CHECK(text_of(folder / "disk/unborn") == "born");
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "disk"), {}) == 3);

  std::filesystem::create_symlink("loop", folder / "loop");
  CHECK_THAT(message_of([&] { write_file(folder / "loop", bytes_of("x")); }),
             ContainsSubstring("/loop'") && ContainsSubstring("symbolic links"));
}

TEST_CASE("file: two writers of one path never mix", "[threads]") {
  const test::TemporaryFolder folder;
  const std::string a(300'000, 'a'), b(200'000, 'b');
  const auto writer = [&](const std::string& text) {
    for (int i = 0; i < 20; ++i) write_file(folder / "f", bytes_of(text));
  };
  std::thread first(writer, a), second(writer, b);
  first.join();
  second.join();
  const std::string got = text_of(folder / "f");
  CHECK((got == a || got == b));
}

TEST_CASE("file: what cannot be read or written is named with its path and the reason", "[system]") {
  const test::TemporaryFolder folder;
  const auto reading = [](const std::filesystem::path& path) { return message_of([&] { read_file(path); }); };
  const auto writing = [](const std::filesystem::path& path) {
    return message_of([&] { write_file(path, bytes_of("x")); });
  };
  CHECK_THAT(reading(folder / "none"), ContainsSubstring("/none'") && ContainsSubstring("No such file"));
  CHECK_THAT(reading(folder.path()), ContainsSubstring("directory"));
  CHECK_THAT(reading("/dev/zero"), ContainsSubstring("not a regular file"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(reading(folder / "pipe"), ContainsSubstring("not a regular file"));
  CHECK_THAT(reading(folder / "line\nend"), ContainsSubstring("line\\x0aend"));
  write_file(folder / "locked", bytes_of("x"));
  REQUIRE(::chmod((folder / "locked").c_str(), 0) == 0);
  if (::access((folder / "locked").c_str(), R_OK) != 0)  // root may read anything
    CHECK_THAT(reading(folder / "locked"), ContainsSubstring("denied"));
  CHECK_THAT(writing(folder / "none" / "a"),
             ContainsSubstring("/none/a'") && ContainsSubstring("No such file"));
  std::filesystem::create_directory(folder / "sub");
  CHECK_THAT(writing(folder / "sub"), ContainsSubstring("directory"));
  CHECK_FALSE(std::filesystem::exists(folder / "sub.new"));
  CHECK_THAT(message_of([&] { read_safetensors(folder / "none"); }), ContainsSubstring("No such file"));
  CHECK_THAT(message_of([&] { read_safetensors(folder.path()); }), ContainsSubstring("directory"));
}

#if defined(__linux__)
TEST_CASE("file: a disk that fails in the middle of a read is said", "[system]") {
  const test::TemporaryFolder folder;
  write_file(folder / "a", bytes_of("whole"));
  {
    const test::FailingCall interrupted(test::Call::read, EINTR, 3);
    CHECK(text_of(folder / "a") == "whole");
    CHECK(interrupted.calls() == 4);
  }
  const test::FailingCall broken(test::Call::read, EIO);
  CHECK_THAT(message_of([&] { read_file(folder / "a"); }), ContainsSubstring("cannot read '") &&
                                                               ContainsSubstring("/a'") &&
                                                               ContainsSubstring("Input/output error"));
}

TEST_CASE("file: a lock is waited for, done without where there are none, and missed otherwise", "[system]") {
  const test::TemporaryFolder folder;
  const auto writing = [&](const std::string& text) {
    return message_of([&] { write_file(folder / "a", bytes_of(text)); });
  };
  {
    const test::FailingCall interrupted(test::Call::flock, EINTR, 3);
    CHECK(writing("first") == "(nothing thrown)");
    CHECK(interrupted.calls() == 4);
  }
  for (const int none : {EOPNOTSUPP, ENOLCK}) {
    const test::FailingCall without(test::Call::flock, none, 100);
    CHECK(writing("second") == "(nothing thrown)");
    CHECK(without.calls() == 1);
  }
  {
    const test::FailingCall broken(test::Call::flock, EIO);
    CHECK_THAT(writing("third"),
               ContainsSubstring("cannot lock '") && ContainsSubstring("Input/output error"));
  }
  CHECK(text_of(folder / "a") == "second");
}
#endif

TEST_CASE("text: UTF-8 is told from bytes that are none") {
  for (const char* good : {"", "plain", "é", "€", "𝄞", "\xF4\x8F\xBF\xBF"}) CHECK(is_utf8(good));
  for (const char* bad : {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "a\xE2\x82"})
    CHECK_FALSE(is_utf8(bad));
}

// The length that the bits of the first byte announce, if the code point that they make needs so many.
TEST_CASE("text: every first two bytes of UTF-8, whatever follows") {
  const auto expected = [](const std::string& bytes) -> std::size_t {
    const auto at = [&](std::size_t i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]));
    };
    const std::uint32_t first = at(0);
    const std::size_t length = first >> 7 == 0     ? 1
                               : first >> 5 == 06  ? 2
                               : first >> 4 == 016 ? 3
                               : first >> 3 == 036 ? 4
                                                   : 0;
    if (length == 0 || bytes.size() < length) return 0;
    std::uint32_t code = length == 1 ? first : first & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
      if (at(i) >> 6 != 2) return 0;
      code = code << 6 | (at(i) & 0x3F);
    }
    const std::size_t needed = code < 0x80       ? 1
                               : code < 0x800    ? 2
                               : code < 0x10000  ? 3
                               : code < 0x110000 ? 4
                                                 : 0;
    return needed == length && !(code >= 0xD800 && code < 0xE000) ? length : 0;
  };
  const unsigned edges[] = {0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF};
  std::size_t wrong = 0;
  for (unsigned first = 0; first < 256; ++first)
    for (unsigned second = 0; second < 256; ++second)
      for (const unsigned third : edges)
        for (const unsigned fourth : edges) {
          std::string bytes;
          for (const unsigned byte : {first, second, third, fourth}) {
            bytes += static_cast<char>(byte);
            wrong += utf8_length(bytes) != expected(bytes);
          }
        }
  CHECK(wrong == 0);
  CHECK(utf8_length("") == 0);
}

TEST_CASE("text: messages stay on one line and short") {
  CHECK(printable("naïve \"x\"") == "naïve \"x\"");
  CHECK(printable("a\nb\t\x7F") == "a\\x0ab\\x09\\x7f");
  CHECK(printable(std::string("\0\xFF", 2)) == "\\x00\\xff");
  CHECK(printable("\xC2\x85 \xE2\x80\xA8") == "\\xc2\\x85 \\xe2\\x80\\xa8");
  CHECK(printable("\xC2\xA0") == "\xC2\xA0");
  CHECK(printable(std::string(1000, 'x'), 10) == "xxxxxxxxxx…");
}
