// The main program of a judged answer: it judges the answer with a seed and writes the finding to a file. It reads
// seed, file and key from standard input, one per line. The file begins with the key, which the answer does not know.
// In WebAssembly, the host passes the seed as the first argument and receives the finding.
#ifdef __EMSCRIPTEN__

#include <cstdio>
#include <cstdlib>
#include <string>

#include "lessons/grader/judge/judge.hpp"

/// Receives the finding, as `size` bytes of JSON (lessons/web/practise/host.mjs).
extern "C" __attribute__((import_module("tapestry"), import_name("finding"))) void tapestry_finding(
    const char* json, std::size_t size);

int main(int argc, char** argv) {
  Judge the_judge(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0);
  judge(the_judge);
  std::fflush(nullptr);
  const std::string json = to_json(the_judge.finding());
  tapestry_finding(json.data(), json.size());
  return 0;
}

#else

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "lessons/grader/judge/judge.hpp"

int main() {
  std::uint64_t seed = 0;
  std::string path, key;
  if (!(std::cin >> seed).ignore() || !std::getline(std::cin, path) || !std::getline(std::cin, key)) {
    std::fputs("judged: standard input must have a seed, a file and a key, one per line\n", stderr);
    return 2;
  }
  dup2(open("/dev/null", O_RDONLY), 0);
  Judge the_judge(seed);
  judge(the_judge);
  std::fflush(stdout);
  std::ofstream file(path, std::ios::binary);
  file << key << '\n' << to_json(the_judge.finding());
  return file.flush() ? 0 : 2;
}

#endif
