// Compilers' and crashes' words, as these programs print them, in one sentence about the learner's line.
#include "lessons/grader/diagnostic.hpp"

#include <csignal>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace tapestry::grader {
namespace {

Diagnostic of_compiler(const std::string& output) {
  return compile_error(output, "/p/mine.cpp", "/p/judge.cpp");
}

}  // namespace

TEST_CASE("known mistakes get plain sentences, from GCC and from Clang", "[grader]") {
  const auto check = [](const std::string& message, const std::string& sentence) {
    const Diagnostic diagnostic = of_compiler(
        "In file included from /b/judged.cpp:1:\n/p/mine.cpp: In function 'f':\n/p/mine.cpp:12:7: error: " +
        message + "\n   12 | x\n/p/mine.cpp:14:1: error: another\n");
    CHECK(diagnostic.line == 12);
    CHECK(diagnostic.sentence == sentence);
  };
  check("expected ';' before 'return'", "A semicolon is missing, here or at the end of the line before.");
  check("expected ';' after expression", "A semicolon is missing, here or at the end of the line before.");
  check("'keyes' was not declared in this scope; did you mean 'keys'?",
        "\"keyes\" is not known here; did you mean \"keys\"?");
  check("use of undeclared identifier 'foo'", "\"foo\" is not known here; check its spelling.");
  check("no return statement in function returning non-void [-Werror=return-type]",
        "This function returns nothing: a \"return\" is missing.");
  check("non-void function does not return a value [-Werror,-Wreturn-type]",
        "This function returns nothing: a \"return\" is missing.");
  check("no matching function for call to 'matmul(const tapestry::Tensor&)'",
        "\"matmul\" does not take these arguments. Check their number, order and types.");
  check("'const class tapestry::Tensor' has no member named 'tanh'",
        "There is no member \".tanh\" here; it may be a function, tanh(x).");
  check("no match for 'operator-' (operand types are 'int' and 'const Value' {aka 'const engine::Value'})",
        "There is no \"int - Value\"; an operand has the wrong type.");
  check("could not convert 'x' from 'double' to 'tapestry::Tensor'",
        "This is a double, but a Tensor is needed.");
  check("call of overloaded 'softmax(tapestry::Tensor&)' is ambiguous",
        "The library also has a function \"softmax\"; give yours another name.");
  check("could not convert 'x' from 'std::string' {aka 'std::__cxx11::basic_string<char>'} to 'double'",
        "This is a std::string, but a double is needed.");
  check("no viable conversion from returned value of type 'double' to function return type 'Tensor'",
        "This is a double, but a Tensor is needed.");
  check("too many arguments to function call, expected 1, have 2", "This call has too many arguments.");
  check("expected ')'", "A comma, a semicolon or a closing bracket is missing, here or just before.");
  check("call of overloaded 'f(' is", "call of overloaded 'f(' is");
  check("'x y' was not declared in this scope", "'x y' was not declared in this scope");
  check("something of 'tapestry::Tensor' nobody foresaw", "something of 'Tensor' nobody foresaw");
}

TEST_CASE("messages of any length are read, and shown cut", "[grader]") {
  const std::string name(58'000, 'n');
  const Diagnostic unknown =
      of_compiler("/p/mine.cpp:3:1: error: '" + name + "' was not declared in this scope\n");
  CHECK(unknown.line == 3);
  CHECK(unknown.sentence.starts_with("\"nnn"));
  CHECK(unknown.sentence.ends_with("…\" is not known here; check its spelling."));
  CHECK(unknown.sentence.size() < 500);
  std::string nested = "int";
  for (int i = 0; i < 10; ++i) nested = "std::map<" + nested + ", " + nested + ">";
  const Diagnostic type = of_compiler(
      "/p/mine.cpp:4:1: error: no match for 'operator+' (operand types are '" + nested + "' and 'int')\n");
  CHECK(type.line == 4);
  CHECK(type.sentence.starts_with("There is no \"std::map<"));
  CHECK(type.sentence.size() < 900);
  CHECK(of_compiler(std::string(1'000'000, ' ')).sentence.size() < 500);
  CHECK(of_compiler(std::string(1'000'000, ':') + " error: x\n").line == 0);
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += "note: 1\n";
  CHECK(of_compiler(lines + "/p/mine.cpp:5:1: error: no\x1b[31m\n").sentence == "no\\x1b[31m");
  CHECK(crash("#1 0x1 in " + std::string(100'000, 'f') + " /p/mine.cpp:21:7\n", 0, "/p/mine.cpp").line == 21);
}

TEST_CASE("a compiler that says nothing known is quoted once", "[grader]") {
  CHECK(of_compiler("g++: fatal trouble\nmore\n").sentence == "The compiler says: g++: fatal trouble");
  CHECK(of_compiler("").sentence == "The compiler does not say why.");
}

TEST_CASE("an error in a header is told at the learner's line that led to it", "[grader]") {
  const Diagnostic before = of_compiler(
      "/l/op.hpp: In instantiation of 'f':\n/p/mine.cpp:9:3:   required from here\n/l/op.hpp:3:1: error: static assertion "
      "failed: an op wants rules\n");
  CHECK(before.line == 9);
  CHECK(before.sentence == "static assertion failed: an op wants rules");
  const Diagnostic after = of_compiler(
      "/l/op.hpp:3:1: error: no good\n/p/mine.cpp:8:3: note: in instantiation of this requested here\n");
  CHECK(after.line == 8);
  CHECK(after.sentence == "no good");
  // The innermost of the learner's places counts, and no other note or warning.
  const std::string chain =
      "/l/op.hpp:3:1: error: no good\n/p/mine.cpp:8:3: note: candidate function\n/p/mine.cpp:9:3: note: in "
      "instantiation of this requested here\n/p/mine.cpp:12:3: note: in instantiation of that requested here\n";
  CHECK(of_compiler(chain).line == 9);
  CHECK(of_compiler(
            "/p/mine.cpp:9:3:   required from 'f'\n/p/mine.cpp:12:3:   required from here\n/l/op.hpp:3:1: "
            "error: no good\n")
            .line == 9);
  const std::string elsewhere = "/l/op.hpp:3:1: error: no good\n";
  CHECK(of_compiler("/p/mine.cpp:7:3: warning: unusual\n" + elsewhere).line == 0);
  CHECK(of_compiler("/p/mine.cpp:7:3:   required from here\n/l/op.hpp:2:1: warning: unusual\n" + elsewhere)
            .line == 0);
  CHECK(of_compiler(elsewhere + "/p/mine.cpp:7:3:   required from here\n/l/op.hpp:5:1: error: no better\n")
            .line == 0);
}

TEST_CASE("an error in a header to which only the judge leads says that the signature was changed",
          "[grader]") {
  const std::string error = "/l/op.hpp:3:1: error: no good\n";
  const std::string before = "/p/judge.cpp:9:3:   required from here\n" + error;
  const std::string after = error + "/p/judge.cpp:9:3: note: in instantiation of this requested here\n";
  for (const std::string& output : {before, after}) {
    CHECK(of_compiler(output).line == 0);
    CHECK(of_compiler(output).sentence.find("The checks cannot call what you wrote (no good)") == 0);
  }
  const Diagnostic learners =
      of_compiler(after + "/p/mine.cpp:4:3: note: in instantiation of that requested here\n");
  CHECK(learners.line == 4);
  CHECK(learners.sentence == "no good");
}

TEST_CASE("too many errors are one error", "[grader]") {
  const Diagnostic diagnostic = of_compiler(
      "/p/mine.cpp:4:3: error: use of undeclared identifier 'a'\n/p/mine.cpp:5:3: error: use of undeclared "
      "identifier 'b'\nfatal error: too many errors emitted, stopping now [-ferror-limit=]\n20 errors generated.\n");
  CHECK(diagnostic.line == 4);
  CHECK(diagnostic.sentence == "\"a\" is not known here; check its spelling.");
}

TEST_CASE("an error in the judge says that the signature was changed", "[grader]") {
  const Diagnostic diagnostic =
      of_compiler("/p/judge.cpp:40:3: error: 'half' was not declared in this scope\n");
  CHECK(diagnostic.line == 0);
  CHECK(diagnostic.sentence.find("The checks cannot call what you wrote") == 0);
  CHECK(diagnostic.sentence.find("\"half\" is not known") != std::string::npos);
  CHECK(of_compiler("ld: x.o: undefined reference to `tapestry::f(int)'\n").sentence ==
        "\"f(int)\" is declared and used, but never defined.");
  CHECK(of_compiler("wasm-ld: error: x.o: undefined symbol: tapestry::f(int)\nmore\n").sentence ==
        "\"f(int)\" is declared and used, but never defined.");
  const Diagnostic noted = of_compiler(
      "/p/judge.cpp:40:3: error: no matching function for call to 'half'\n/p/mine.cpp:3:8: note: candidate function "
      "not viable: requires 2 arguments, but 1 was provided\n");
  CHECK(noted.line == 3);
  CHECK(noted.sentence.find("The checks cannot call what you wrote (This call has too few arguments.)") == 0);
}

TEST_CASE("a crash is told at the learner's line", "[grader]") {
  const std::string report =
      "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1\n"
      "    #0 0x55d1 in std::vector<double>::operator[] /usr/include/c++/12/bits/stl_vector.h:1123\n"
      "    #1 0x55d2 in half(double) /p/mine.cpp:21\n    #2 0x55d3 in judge(Judge&) /p/judge.cpp:50\n";
  const Diagnostic diagnostic = crash(report, 0, "/p/mine.cpp");
  CHECK(diagnostic.line == 21);
  CHECK(diagnostic.sentence == "Memory beyond the end of an array is read or written.");
  CHECK(crash("stl_vector.h:1123: Assertion '__n < this->size()' failed.", SIGABRT, "/p/mine.cpp").sentence ==
        "An index is outside a std::vector or std::array.");
  CHECK(crash("", SIGPIPE, "/p/mine.cpp").sentence.find("It crashed (") == 0);
  CHECK(crash("", 0, "/p/mine.cpp").sentence.find("without a verdict") != std::string::npos);
}

TEST_CASE("a trap of WebAssembly gets the sentence of the crash of a native program", "[grader]") {
  const auto check = [](const std::string& report, int signal, const std::vector<std::string>& messages) {
    const std::string sentence = crash(report, signal, "/p/mine.cpp").sentence;
    CHECK(sentence.find("(") == sentence.find("()"));  // a known one
    for (const std::string& message : messages) {
      INFO(message);
      CHECK(trap(message).sentence == sentence);
      CHECK(trap(message).line == 0);
    }
  };
  // The messages of V8, SpiderMonkey and JavaScriptCore, with and without the error's name.
  check("AddressSanitizer: SEGV on unknown address", 0,
        {"RuntimeError: memory access out of bounds", "index out of bounds", "Out of bounds memory access",
         "null function or function signature mismatch (evaluating 'x')", "indirect call to null",
         "RuntimeError: table index is out of bounds", "indirect call signature mismatch",
         "call_indirect to a null table entry", "Out of bounds call_indirect"});
  check("", SIGSEGV, {"memory access out of bounds"});
  check("AddressSanitizer: FPE on unknown address", 0,
        {"divide by zero", "integer divide by zero", "Division by zero", "integer overflow",
         "RuntimeError: divide result unrepresentable", "float unrepresentable in integer range",
         "Out of bounds Trunc operation (evaluating 'x')"});
  check("", SIGFPE, {"integer overflow"});
  check("AddressSanitizer: stack-overflow on address", 0,
        {"RangeError: Maximum call stack size exceeded", "InternalError: too much recursion",
         "Maximum call stack size exceeded."});
  check("AddressSanitizer: hard rss limit exhausted (2000Mb vs 2001Mb)", 0,
        {"out of memory", "RuntimeError: Aborted(OOM): out of memory", "Out of memory",
         "WebAssembly.Memory.grow(): Maximum memory size exceeded", "Array buffer allocation failed"});
  check("", SIGABRT,
        {"unreachable", "RuntimeError: unreachable executed", "Unreachable code should not be executed",
         "Aborted(native code called abort())"});
  check("AddressSanitizer: ABRT on unknown address", 0, {"unreachable"});
  CHECK(trap("something new").sentence == "It crashed (something new).");
  CHECK(trap(std::string(1000, 'x')).sentence.size() < 500);
}

}  // namespace tapestry::grader
