// The grader's part of exercises in a page, compiled to WebAssembly. It reads JSON from standard input and writes JSON
// to standard output; lessons/web/practise/checker.mjs is its caller, and compiles and runs the answer.
//
//     page_grader exercises    {path: source} → all exercises, for the book's build
//     page_grader texts        {exercise, answer, pieces} → {files} or {compiler}
//     page_grader verdict      {exercise, …} → {kind, right, fault, reason, line, sentence, …}
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <string>

#include "core/tensor/error.hpp"
#include "lessons/grader/page/json.hpp"

using namespace tapestry;
using namespace tapestry::grader;

int main(int argc, char** argv) {
  const std::string command = argc == 2 ? argv[1] : "";
  try {
    const Json input =
        Json::parse(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
    Json result;
    if (command == "exercises")
      result = exercises_as_json(input);
    else if (command == "texts")
      result = texts_as_json(input);
    else if (command == "verdict")
      result = verdict_as_json(input);
    else
      fail("the command must be exercises, texts or verdict, got \"{}\"", command);
    const std::string text = result.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "page_grader: %s\n", error.what());
    return 2;
  }
}
