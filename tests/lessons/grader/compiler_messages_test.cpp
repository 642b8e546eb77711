// The same mistake gets the same sentence and line from each compiler, whose outputs compiler_outputs.txt records.
#include "lessons/grader/compiler_messages.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "lessons/grader/diagnostic.hpp"
#include "lessons/grader/library_names.hpp"
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

TEST_CASE("a decimal comma is named where the error is about it, and a comma between arguments is not",
          "[grader]") {
  const auto says = [](const std::string& error, const std::string& source, const std::string& carets) {
    return of_answer("/my answers/mine.cpp:4:12: error: " + error + "\n    4 |" + source + "\n      |" +
                     carets + "\n")
        .sentence;
  };
  const std::string left = "left operand of comma operator has no effect [-Werror=unused-value]";
  const std::string point = "A decimal number has a point, not a comma: write 0.25 in place of 0,25.";
  CHECK(says(left, " return 0,25;", "        ^") == point);
  CHECK(says(left, " return f(1,2) - 0,25;", "        ~~~~~~~^~~") == point);
  CHECK(says("value computed is not used [-Werror=unused-value]", " return f(1,2) * 0,25;",
             "               ^") == point);
  CHECK(says(left, " return y * 10,250 + 2;", "        ~~^~~") ==
        "A decimal number has a point, not a comma: write 10.250 in place of 10,250.");
  const std::string general =
      "The value before this comma is not used. A decimal number has a point, as in 0.25.";
  CHECK(says(left, " for (; i, ++x; f(1,2))", "        ^") == general);
  CHECK(says(left, " return v[0,1];", "          ^") == general);
  CHECK(says(left, " return v[0,1 + i];", "          ^") == general);
  CHECK(says(left, " i, ++x; y = 1,2;", " ^") == general);
  CHECK(says(left, " return v1,2;", "        ^~") == general);
  CHECK(says(left, " return 1,2,3;", "        ^") == general);
  CHECK(says(left, " return 1.5,2;", "        ^~~") == general);
  CHECK(of_answer("/my answers/mine.cpp:4:12: error: " + left + "\n").sentence ==
        general);  // without the source
  const std::string integer =
      "no viable conversion from returned value of type 'int' to function return type 'Tensor'";
  CHECK(says(integer, " return x + f(1,2);", "        ^~~~~~~~~~") ==
        "This is an int, but a Tensor is needed.");
  CHECK(says(integer, " g(1,2); return x;", "                ^") ==
        "This is an int, but a Tensor is needed.");
  CHECK(says(integer, " return f(1,2) * 0,25;", "        ^~~~~~~~~~~~~") == point);
  CHECK(says("expected unqualified-id before numeric constant", " int 3; y = 1,2;", "     ^") ==
        "A name or a declaration is expected here; a brace may be missing, or one too many, just before.");
}

TEST_CASE("an unknown function gets the nearest name of the library, unless the compiler's is nearer",
          "[grader]") {
  const auto says = [](const std::string& error, const std::string& source) {
    return of_answer("/my answers/mine.cpp:4:10: error: " + error + "\n  " + source + "\n  ^~~\n").sentence;
  };
  const auto did_you_mean = [](const std::string& name, const std::string& other) {
    return "\"" + name + "\" is not known here; did you mean \"" + other + "\"?";
  };
  CHECK(says("'matmull' was not declared in this scope; did you mean 'fmull'?", "matmull(q, k);") ==
        did_you_mean("matmull", "matmul"));
  CHECK(says("'matmull' was not declared in this scope", "matmull(q, k);") ==
        did_you_mean("matmull", "matmul"));
  CHECK(says("use of undeclared identifier 'matmull'", "matmull(q, k);") ==
        did_you_mean("matmull", "matmul"));
  CHECK(says("'conct' was not declared in this scope; did you mean 'const'?", "conct({q, k}, 0);") ==
        did_you_mean("conct", "concat"));
  // A function of the answer's own, and variables.
  CHECK(says("'soft_maxs' was not declared in this scope; did you mean 'softmaxs'?", "soft_maxs(q);") ==
        did_you_mean("soft_maxs", "softmaxs"));
  CHECK(says("'sofmax' was not declared in this scope", "sofmax + 1;") ==
        "\"sofmax\" is not known here; check its spelling.");
  CHECK(says("'meen' was not declared in this scope; did you mean 'men'?", "meen;") ==
        did_you_mean("meen", "men"));
  CHECK(says("'weigh' was not declared in this scope", "weigh(q);") ==
        "\"weigh\" is not known here; check its spelling.");
}

TEST_CASE("the nearest name differs in one letter, or two of a long name", "[grader]") {
  const std::map<std::string, std::string> nearest = {{"matmull", "matmul"},
                                                      {"Matmul", "matmul"},
                                                      {"mat_mul", "matmul"},
                                                      {"trasnpose", "transpose"},
                                                      {"sofmax", "softmax"},
                                                      {"sotfmx", "softmax"},
                                                      {"mask_softmax", "masked_softmax"},
                                                      {"expp", "exp"},
                                                      {"sqr", "sqrt"},
                                                      {"men", "mean"},
                                                      {"logg", "log"},
                                                      {"layernorm", "layer_norm"},
                                                      {"epx", "exp"},
                                                      {"mat", ""},
                                                      {"foo", ""},
                                                      {"cols", ""},
                                                      {"len", ""},
                                                      {"weights", ""},
                                                      {"attention", ""},
                                                      {"", ""},
                                                      {"_", ""},
                                                      {std::string(60'000, 'x'), ""}};
  for (const auto& [name, wanted] : nearest) {
    CAPTURE(name.substr(0, 40));
    CHECK(nearest_library_name(name) == wanted);
  }
  CHECK(spelling_distance("", "abc") == 3);
  CHECK(spelling_distance("abcd", "acbd") == 1);
  CHECK(spelling_distance("kitten", "sitting") == 3);
}

TEST_CASE("the library has every function that the grader suggests", "[grader]") {
  std::string headers;
  for (const char* folder : {"ops", "tensor", "attention"})
    for (const auto& file :
         std::filesystem::directory_iterator(TAPESTRY_SOURCE_DIR "/core/" + std::string(folder)))
      if (file.path().extension() == ".hpp") {
        std::ifstream in(file.path());
        headers.append(std::istreambuf_iterator<char>(in), {});
      }
  for (const std::string_view name : library_names()) {
    CAPTURE(name);
    const std::string declared = " " + std::string(name) + "(";
    const auto has = [&](const char* type) { return headers.find(type + declared) != std::string::npos; };
    CHECK((has("Tensor") || has("Indices") || has("Mask") || has("Ordered")));
    CHECK(nearest_library_name(name) == name);
  }
}

}  // namespace tapestry::grader
