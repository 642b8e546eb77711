// The same mistake gets the same sentence and line from each compiler, whose outputs compiler_outputs.txt records.
#include "lessons/grader/known_errors.hpp"

#include <fstream>
#include <map>
#include <set>
#include <string>

#include "lessons/grader/diagnostic.hpp"
#include "tests/catch.hpp"

namespace tapestry::grader {
namespace {

Diagnostic of_answer(const std::string& output) {
  return compile_error(output, "/my answers/mine.cpp", "/lessons/judge.cpp");
}

}  // namespace

TEST_CASE("a mistake gets the same sentence and line from each compiler", "[grader]") {
  std::ifstream file(TAPESTRY_SOURCE_DIR "/tests/lessons/grader/compiler_outputs.txt");
  std::string line, expected, compilers, output;
  std::map<std::string, int> outputs;
  std::set<std::string> sentences;
  const auto check = [&] {
    if (!compilers.empty()) {
      INFO(compilers << " says:\n" << output);
      const Diagnostic diagnostic = of_answer(output);
      CHECK(std::to_string(diagnostic.line) + " " + diagnostic.sentence == expected);
      sentences.insert(diagnostic.sentence);
      for (const char* compiler : {"g++ 12", "clang++ 14", "clang 22"})
        outputs[compiler] += compilers.find(compiler) != std::string::npos;
    }
    compilers.clear();
    output.clear();
  };
  while (std::getline(file, line))
    if (line.starts_with("#") || line.empty()) {
      check();
      if (line.starts_with("## "))
        compilers = line;
      else if (!line.empty())
        expected = line.substr(2);
    } else {
      output += line + '\n';
    }
  check();
  CHECK(sentences.size() > 45);
  for (const char* compiler : {"g++ 12", "clang++ 14", "clang 22"}) CHECK(outputs[compiler] > 60);
}

TEST_CASE("notes tell why a function is not chosen, if they agree", "[grader]") {
  const std::string error = "/my answers/mine.cpp:4:10: error: no matching function for call to 'f'\n";
  const std::string note = "/my answers/mine.cpp:2:5: note: candidate ";
  const auto check = [&](const std::string& notes, const std::string& sentence) {
    INFO(notes);
    CHECK(of_answer(error + notes).sentence == sentence);
    CHECK(of_answer(error + notes).line == 4);
  };
  const std::string generic = "\"f\" does not take these arguments. Check their number, order and types.";
  check("", generic);
  const std::string few = note + "function not viable: requires 2 arguments, but 1 was provided\n";
  check(few, "This call has too few arguments.");
  check(few + few, "This call has too few arguments.");
  check(note + "function not viable: requires single argument 'a', but no arguments were provided\n",
        "This call has too few arguments.");
  check(note + "function not viable: requires at most 2 arguments, but 10 were provided\n",
        "This call has too many arguments.");
  check(note + "function not viable: allows at most single argument 'a', but 2 arguments were provided\n",
        "This call has too many arguments.");
  check(note + "expects at least 12 arguments, 3 provided\n", "This call has too few arguments.");
  const std::string type =
      note + "function not viable: no known conversion from 'int' to 'const Tensor' for 1st argument\n";
  check(type, "This is an int, but a Tensor is needed.");
  check(few + type, generic);
  check(type + note + "template ignored: could not match 'vector<T>' against 'int'\n", generic);
  check(note + "function not viable: something new\n", generic);
  check("/my answers/mine.cpp:6:1: error: no good\n" + few, generic);
  CHECK(
      of_answer("/my answers/mine.cpp:4:10: error: no viable conversion from 'int' to 'std::string'\n" + type)
          .sentence == "This is an int, but a std::string is needed.");
  check("/my answers/mine.cpp:6:1: warning: unusual\n" + few, generic);
}

TEST_CASE("types are named alike, and second names of types left out", "[grader]") {
  CHECK(
      known_error(
          "cannot convert 'const std::__cxx11::basic_string<char>&' to 'tapestry::Size' {aka 'long int'} in "
          "return") == "This is a std::string, but a Size is needed.");
  CHECK(known_error(
            "no viable conversion from 'const Tensor' (aka 'tapestry::Tensor') to 'Size' (aka 'long')") ==
        "This is a Tensor, but a Size is needed.");
  CHECK(
      known_error("cannot convert 'std::remove_reference<A&>::type' {aka 'A'} to 'value_type' {aka 'int'}") ==
      "This is an A, but an int is needed.");
  CHECK(known_error("cannot convert 'const char [6]' to 'int'") ==
        "This is a C string, but an int is needed.");
  CHECK(known_error("cannot convert 'const char*' to 'char'") == "This is a C string, but a char is needed.");
  CHECK(known_error("cannot convert 'const int*' to 'int'") == "This is a const int*, but an int is needed.");
  CHECK(known_error("invalid operands of types 'A' and 'B' to binary 'operator&&'") ==
        "There is no \"A && B\"; an operand has the wrong type.");
  CHECK(known_error("cannot convert 'A' {aka 'unfinished") == "");
  CHECK(known_error("") == "");
}

TEST_CASE("Clang's caret names the operator", "[grader]") {
  const auto check = [](const std::string& quoted, const std::string& sentence) {
    INFO(quoted);
    CHECK(
        of_answer("/my answers/mine.cpp:4:12: error: invalid operands to binary expression ('A' and 'B')\n" +
                  quoted + "1 error generated.\n")
            .sentence == sentence);
  };
  const auto names = [&](const std::string& quoted, const std::string& sign) {
    check(quoted, "There is no \"A " + sign + " B\"; an operand has the wrong type.");
  };
  names("    4 |   return a % b;\n      |          ~ ^ ~\n", "%");
  names("  return a <= b;\n         ~ ^  ~\n", "<=");
  names("  return a<<b;\n         ~^ ~\n", "<<");
  names("  return a*-b;\n         ~^~~\n", "*");
  names("  return a*&b;\n         ~^~~\n", "*");
  names("    4 |   f(\"√\"); a && b;\n      |           ~ ^  ~\n", "&&");
  check("  return a ^ b;\n         ~ ^ ~\n", "C++ has no operator for powers: write x * x or pow(x, n).");
  const std::string unknown = "invalid operands to binary expression ('A' and 'B')";
  check("", unknown);
  check("  return a + b;\n", unknown);
  check("  return a\n                    ^\n", unknown);
}

}  // namespace tapestry::grader
