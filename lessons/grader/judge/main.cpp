// The program that an answer becomes: judges it with a seed and writes what was found to a file.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "lessons/grader/judge/judge.hpp"

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("usage: judged SEED FILE\n", stderr);
    return 2;
  }
  Judge the_judge(std::strtoull(words[1], nullptr, 10));
  judge(the_judge);
  std::fflush(stdout);
  std::ofstream file(words[2], std::ios::binary);
  file << to_json(the_judge.finding());
  return file.flush() ? 0 : 2;
}
