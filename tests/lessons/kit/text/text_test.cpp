// Text files, whole and with every kind of damage.
#include "lessons/kit/text/text.hpp"

#include <sys/stat.h>

#include "lessons/kit/text/utf8.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::kit {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using Lines = std::vector<std::string>;

std::string many_words(std::size_t count) {
  std::string line;
  for (std::size_t i = 0; i < count; ++i) line += "w ";
  return line;
}

}  // namespace

TEST_CASE("lines are read as they are", "[kit]") {
  const Scratch scratch;
  CHECK(read_lines(scratch.write("a", "un\ndeux\n")) == Lines{"un", "deux"});
  CHECK(read_lines(scratch.write("b", "un\ndeux")) == Lines{"un", "deux"});
  CHECK(read_lines(scratch.write("c", "un\r\ndeux\r\n")) == Lines{"un", "deux"});
  CHECK(read_lines(scratch.write("d",
                                 "\xEF\xBB\xBF"
                                 "un\n\ntrois")) == Lines{"un", "", "trois"});
  CHECK(read_lines(scratch.write("e", "")).empty());
  CHECK(read_lines(scratch.write("f", "\n")) == Lines{""});
  CHECK(read_lines(scratch.write("g", "é 日本 😀\n")) == Lines{"é 日本 😀"});
}

TEST_CASE("words stand between white space", "[kit]") {
  CHECK(split_words("  l' homme \t dort\r") == Words{"l'", "homme", "dort"});
  CHECK(split_words("").empty());
  CHECK(split_words(" \t ").empty());
  CHECK(join_words({"l'", "homme"}) == "l' homme");
  CHECK(join_words({}).empty());
}

TEST_CASE("files that cannot be read are named", "[kit]") {
  const Scratch scratch;
  CHECK_THAT(usage_error([&] { read_lines(scratch.path("none")); }), EndsWith("none': no such file"));
  CHECK_THAT(usage_error([&] { read_lines(scratch.write("f", "x") / "inside"); }),
             ContainsSubstring("cannot read"));
  CHECK_THAT(usage_error([&] { read_lines(scratch.folder()); }), ContainsSubstring("it is a folder"));
  const std::string pipe = scratch.path("pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(usage_error([&] { read_lines(pipe); }), ContainsSubstring("not a regular file"));
}

TEST_CASE("damage is reported with path, line and byte", "[kit]") {
  const Scratch scratch;
  const auto error = [&](const std::string& content) {
    const auto path = scratch.write("text", content);
    const std::string message = usage_error([&] { read_lines(path); });
    CHECK(message.find('\n') == std::string::npos);
    CHECK_THAT(message, StartsWith(path.string() + ":"));
    return message.substr(path.string().size());
  };
  CHECK_THAT(error(std::string("ab\nc\0d\n", 7)), StartsWith(":2: a NUL byte at byte 2"));
  CHECK_THAT(error("ok\nok\nab\xFFz\n"), StartsWith(":3: invalid UTF-8 (byte 0xff at byte 3"));
  CHECK_THAT(error("\xC0\x80\n"), StartsWith(":1: invalid UTF-8"));          // overlong
  CHECK_THAT(error("\xED\xA0\x80\n"), StartsWith(":1: invalid UTF-8"));      // a surrogate
  CHECK_THAT(error("\xF4\x90\x80\x80\n"), StartsWith(":1: invalid UTF-8"));  // above U+10FFFF
  CHECK_THAT(error("abc\xC3\nd"),
             StartsWith(":1: invalid UTF-8 (byte 0xc3 at byte 4"));  // cut by the line's end
  CHECK_THAT(error("abc\n\xE2\x82"), StartsWith(":2: invalid UTF-8 (byte 0xe2 at byte 1"));
  CHECK_THAT(error("\n" + many_words(100'000)),
             StartsWith(":2: the line has 100000 words, more than the limit of"));
  CHECK_THAT(error(std::string(kMostBytesInLine + 1, 'x')),
             ContainsSubstring("more bytes than the limit of"));
  CHECK(read_lines(scratch.write("text", many_words(kMostWordsInLine))).size() == 1);
}

TEST_CASE("parallel files must match line by line", "[kit]") {
  const Scratch scratch;
  const auto error = [&](const std::string& english, const std::string& french) {
    scratch.write("train.en", english);
    scratch.write("train.fr", french);
    return usage_error([&] { read_parallel(scratch.folder(), "train", "en", "fr"); });
  };
  CHECK(error("a man\nthe  cat\n", "un homme\nle chat") == "(nothing thrown)");
  const ParallelText text = read_parallel(scratch.folder(), "train", "en", "fr");
  CHECK(text.source == std::vector<Words>{{"a", "man"}, {"the", "cat"}});
  CHECK(text.target == std::vector<Words>{{"un", "homme"}, {"le", "chat"}});
  const ParallelText other_way = read_parallel(scratch.folder(), "train", "fr", "en");
  CHECK(other_way.source == text.target);

  CHECK_THAT(error("a\nb\n", "a\n"),
             ContainsSubstring("train.en' has 2 lines") && ContainsSubstring("has 1"));
  CHECK_THAT(error("a\n \nb\n", "a\nb\nc\n"), ContainsSubstring("train.en:2: the line is empty"));
  CHECK_THAT(error("a\nb\n", "a\n\n"), ContainsSubstring("train.fr:2: the line is empty"));
  CHECK_THAT(error("", ""), ContainsSubstring("train.en' is empty"));
  CHECK_THAT(usage_error([&] { read_parallel(scratch.folder(), "val", "en", "fr"); }),
             ContainsSubstring("val.en"));
}

TEST_CASE("lines come one by one as they come together", "[kit]") {
  const Scratch scratch;
  // Longer than the pieces that a file is read in, with lines across their borders.
  std::string content = "\xEF\xBB\xBFpremière\r\n\n";
  for (int i = 0; i < 30'000; ++i) content += "ligne numéro " + std::to_string(i) + "\n";
  for (const char* const end : {"", "sans fin"}) {
    const auto path = scratch.write("text", content + end);
    Lines lines;
    for_each_line(path, [&](std::string_view line, std::size_t number) {
      lines.emplace_back(line);
      CHECK(number == lines.size());
    });
    CHECK(lines == read_lines(path));
  }
  for_each_line(scratch.write("text", ""),
                [](std::string_view, std::size_t) { FAIL("an empty file has no line"); });
  for (const std::string& damaged :
       {std::string("ok\nab\xFFz\n"), std::string("ok\na\0b", 6),
        "ok\n" + std::string(kMostBytesInLine + 1, 'x'), "ok\n" + many_words(kMostWordsInLine + 1)}) {
    const auto path = scratch.write("text", damaged);
    const std::string one_by_one =
        usage_error([&] { for_each_line(path, [](std::string_view, std::size_t) {}); });
    CHECK_THAT(one_by_one, StartsWith(path.string() + ":2: "));
    CHECK(one_by_one == usage_error([&] { read_lines(path); }));
  }
}

TEST_CASE("sentences are joined in twos and threes", "[kit]") {
  const ParallelText text = {{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}}, {{"A"}, {"B"}, {"C"}, {"D"}, {"E"}}};
  const ParallelText twos = joined(text, 2, {{"and"}, {"et"}});
  CHECK(twos.source == std::vector<Words>{{"a", "and", "b"}, {"c", "and", "d"}});
  CHECK(twos.target == std::vector<Words>{{"A", "et", "B"}, {"C", "et", "D"}});
  CHECK(joined(text, 3).source == std::vector<Words>{{"a", "b", "c"}});
  CHECK(joined(text, 6).source.empty());
  CHECK(joined({}, 2).source.empty());

  const ParallelText more = with_joined(text, 0.6);
  REQUIRE(more.source.size() == 8);
  CHECK(more.source[4] == Words{"e"});
  CHECK(more.source[5] == Words{"a", "b"});
  CHECK(more.target[6] == Words{"C", "D", "E"});
  CHECK(more.source[7] == Words{"a", "b"});  // round again
  CHECK(with_joined(text, 0).source == text.source);
}

TEST_CASE("UTF-8 widths, cutting and cleaning", "[kit]") {
  CHECK(display_width("contrôle") == 8);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("日本") == 4);
  CHECK(display_width("😀") == 2);
  CHECK(cut_to("contrôle", 8) == "contrôle");
  CHECK(cut_to("contrôle", 7) == "contrô…");
  CHECK(cut_to("日本語", 4) == "日…");
  CHECK(cut_to("ab", 0) == "");
  CHECK(pad_left("é", 3) == "  é");
  CHECK(pad_right("日", 3) == "日 ");
  CHECK(printable("a\x1b[31m\nb\xFF") == "a [31m b\uFFFD");
  CHECK(printable("a\u2028b\u202Ec\u2066d") == "a b c d");  // line ends and turns of direction
  CHECK_FALSE(invalid_utf8_at("é 日 😀").has_value());
  CHECK(invalid_utf8_at("é\x80") == 2);
}

}  // namespace tapestry::kit
