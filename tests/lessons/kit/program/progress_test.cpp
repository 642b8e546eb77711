// The progress bar and its plain lines.
#include "lessons/kit/program/progress.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "lessons/kit/text/utf8.hpp"
#include "tests/catch.hpp"

namespace tapestry::kit {
namespace {

std::vector<std::string> split(const std::string& text, const std::string& mark) {
  std::vector<std::string> pieces;
  std::size_t from = 0;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, from)) {
    pieces.push_back(text.substr(from, at - from));
    from = at + mark.size();
  }
  pieces.push_back(text.substr(from));
  return pieces;
}

struct Run {
  std::string text;
  double loss = 0;
  double speed = 0;
};

Run train(std::int64_t from, std::int64_t total, Terminal terminal, double seconds_a_step, double count = 1,
          const std::string& unit = "steps") {
  std::ostringstream out;
  double now = 0;
  Run run;
  {
    Progress progress(total, {from, unit}, out, terminal, [&now] { return now; });
    for (std::int64_t step = from; step < total; ++step) {
      now += seconds_a_step;
      progress.step(2.5, count);
    }
    run.loss = progress.loss();
    run.speed = progress.speed();
  }
  run.text = out.str();
  return run;
}

}  // namespace

TEST_CASE("off a terminal there are about ten plain lines", "[kit]") {
  const Run run = train(0, 1000, {}, 0.5);
  const auto lines = std::count(run.text.begin(), run.text.end(), '\n');
  CHECK(lines == 11);  // the first step, and every tenth
  CHECK(run.text.find("500/1000  50 %  loss 2.5000  2 steps/s  4m10s left") != std::string::npos);
  CHECK(run.text.find('\r') == std::string::npos);
  CHECK(run.text.find('\x1b') == std::string::npos);
  CHECK(run.loss == Approx(2.5));
  CHECK(run.speed == Approx(2));
}

TEST_CASE("few steps are one line each", "[kit]") {
  const Run run = train(0, 3, {}, 1);
  CHECK(std::count(run.text.begin(), run.text.end(), '\n') == 3);
}

TEST_CASE("a resumed run counts on, and measures only its own steps", "[kit]") {
  const Run run = train(900, 1000, {}, 1, 3600, "words");
  CHECK(run.text.find("901/1000") != std::string::npos);
  CHECK(run.text.find("1000/1000 100 %") != std::string::npos);
  CHECK(run.text.find("3,600 words/s") != std::string::npos);
  // A second a step: 99 after the first, 50 half-way.
  CHECK(run.text.find("901/1000  90 %  loss 2.5000  3,600 words/s  1m39s left") != std::string::npos);
  CHECK(train(0, 100, {}, 1).text.find("50/100  50 %  loss 2.5000  1 steps/s  50s left") !=
        std::string::npos);
  CHECK(run.speed == Approx(3600));
}

TEST_CASE("on a terminal one line is redrawn, never wider than the terminal", "[kit]") {
  const int columns = GENERATE(20, 40, 80, 200);
  Terminal terminal;
  terminal.interactive = true;
  terminal.columns = columns;
  const Run run = train(0, 500, terminal, 0.01);  // five seconds
  const auto draws = split(run.text, "\r\x1b[K");
  CHECK(draws.size() > 10);
  CHECK(draws.size() <= 53);  // at most ten a second, and the last
  CHECK(std::count(run.text.begin(), run.text.end(), '\n') == 1);
  for (const std::string& draw : draws) CHECK(display_width(draw) <= columns);
}

TEST_CASE("a note stands on a line of its own", "[kit]") {
  std::ostringstream out;
  Progress progress(10, {}, out, {}, [] { return 0.0; });
  progress.note("BLEU 38.6");
  CHECK(out.str() == "  BLEU 38.6\n");
}

TEST_CASE("a run that was done before prints nothing", "[kit]") {
  CHECK(train(10, 10, {}, 1).text.empty());
  CHECK(train(0, 0, {}, 1).text.empty());
}

TEST_CASE("times and numbers are short", "[kit]") {
  CHECK(short_time(0) == "0s");
  CHECK(short_time(59.4) == "59s");
  CHECK(short_time(185) == "3m05s");
  CHECK(short_time(7620) == "2h07m");
  CHECK(short_time(std::nan("")) == "?");
  CHECK(short_time(-1) == "?");
  CHECK(short_number(3612.4) == "3,612");
  CHECK(short_number(1234567) == "1,234,567");
  CHECK(short_number(100) == "100");
  CHECK(short_number(-123) == "-123");
  CHECK(short_number(-1234567) == "-1,234,567");
  CHECK(short_number(-99.96) == "-100");
  CHECK(short_number(1e15) == "1e+15");
  CHECK(short_number(4.237) == "4.24");
}

TEST_CASE("on a terminal notes stand above the bar, which is drawn again below them", "[kit]") {
  std::ostringstream out;
  double now = 0;
  {
    Progress progress(4, {0, "words"}, out, {true, false, 72}, [&now] { return now; });
    progress.note("before the first step");
    now = 2;
    progress.step(3, 500);
    progress.note("a figure");
    now = 2.05;  // too soon to draw
    progress.step(3, 500);
    now = 8;
    progress.step(3, 500);
    progress.step(3, 500);
    progress.finish();
    progress.note("at the end");
  }
  const std::string erase = "\r\x1b[K",
                    first = erase + "  ━━━━━──────────────────  1/4  25 %  loss 3.0000  250 words/s  6s left",
                    third = erase + "  ━━━━━━━━━━━━━━━━━──────  3/4  75 %  loss 3.0000  188 words/s  3s left",
                    last =
                        erase + "  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━  4/4 100 %  loss 3.0000  250 words/s  8s\n";
  CHECK(out.str() == "  before the first step\n" + first + erase + "  a figure\n" + first + third + last +
                         "  at the end\n");
}

TEST_CASE("a bar has at least eight characters and at most thirty, or is left out", "[kit]") {
  for (int columns = 20; columns < 120; ++columns) {
    std::ostringstream out;
    double now = 0;
    Progress progress(2, {}, out, {true, false, columns}, [&now] { return now; });
    now = 1;
    progress.step(2);
    const std::string line = "1/2  50 %  loss 2.0000  1 steps/s  1s left";  // 42 wide
    const int room = columns - 42 - 5, bar = room < 8 ? 0 : std::min(room, 30);
    std::string expected = "\r\x1b[K  ";
    for (int i = 0; i < bar; ++i) expected += i < bar / 2 ? "━" : "─";
    expected += (bar > 0 ? "  " : "") + cut_to(line, columns - 3);
    CHECK(out.str() == expected);
  }
}

}  // namespace tapestry::kit
