// The main program of a judged answer: it judges the answer with a seed and writes the finding to a file. It reads
// seed, file and key from standard input, one per line. The file begins with the key, which the answer does not know.
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
