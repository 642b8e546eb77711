// A log that goes on after a resume.
#include "lessons/kit/train/log.hpp"

#include <stdexcept>

#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::kit {
namespace {

using Catch::Matchers::ContainsSubstring;

double loss_at(Size step) { return 3.0 / static_cast<double>(step + 1); }

void train(const Scratch& scratch, Size from, Size to, std::optional<Size> resume) {
  RunLog log(scratch.path("log.csv"), {"loss", "rate"}, resume);
  for (Size step = from + 1; step <= to; ++step) log.row(step, {loss_at(step), 0.1});
}

}  // namespace

TEST_CASE("a log is a table", "[kit]") {
  const Scratch scratch;
  train(scratch, 0, 2, std::nullopt);
  CHECK(scratch.read("log.csv") == "step,loss,rate\n1,1.5,0.1\n2,1,0.1\n");
}

TEST_CASE("a killed and resumed run's log equals an unbroken one", "[kit]") {
  const Scratch unbroken, broken;
  train(unbroken, 0, 100, std::nullopt);
  train(broken, 0, 57, std::nullopt);  // killed at 57; the checkpoint is of 50
  const std::string torn = GENERATE("", "58,0.0", "58,", "5", "58,0.05,0.1");
  broken.write("log.csv", broken.read("log.csv") + torn);
  train(broken, 50, 80, 50);
  train(broken, 80, 100, 80);
  CHECK(broken.read("log.csv") == unbroken.read("log.csv"));
}

TEST_CASE("half a line is no row, whatever its step", "[kit]") {
  const Scratch scratch;
  train(scratch, 0, 2, std::nullopt);
  const std::string whole = scratch.read("log.csv");
  scratch.write("log.csv", whole + "3,0.7");  // the disk was full; the checkpoint is of step 3
  train(scratch, 3, 3, 3);
  CHECK(scratch.read("log.csv") == whole);
}

TEST_CASE("a new run starts a new log, and a lost log does not stop a resume", "[kit]") {
  const Scratch scratch;
  train(scratch, 0, 9, std::nullopt);
  train(scratch, 0, 1, std::nullopt);
  CHECK(scratch.read("log.csv") == "step,loss,rate\n1,1.5,0.1\n");
  std::filesystem::remove(scratch.path("log.csv"));
  train(scratch, 1, 2, 1);
  CHECK(scratch.read("log.csv") == "step,loss,rate\n2,1,0.1\n");
}

TEST_CASE("a log of other columns, or that cannot be written, is named", "[kit]") {
  const Scratch scratch;
  scratch.write("log.csv", "step,accuracy\n1,5\n");
  CHECK_THAT(usage_error([&] { train(scratch, 0, 1, 1); }),
             ContainsSubstring("log.csv:1: expected the columns"));
  CHECK(scratch.read("log.csv") == "step,accuracy\n1,5\n");
  CHECK_THAT(usage_error([&] { RunLog(scratch.path("no/log.csv"), {"loss"}); }),
             ContainsSubstring("no/log.csv"));
  RunLog log(scratch.path("ok.csv"), {"loss"});
  std::filesystem::remove(scratch.path("ok.csv"));
  std::filesystem::create_directory(scratch.path("ok.csv"));
  CHECK_THAT(usage_error([&] { log.row(1, {1}); }),
             ContainsSubstring("cannot write '") && ContainsSubstring("ok.csv': Is a directory"));
  CHECK_THROWS_AS(log.row(1, {1, 2}), std::invalid_argument);
}

}  // namespace tapestry::kit
