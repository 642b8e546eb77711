// Training steps of transformers, under the names of peers/blocks.py.
#include "tests/bench/bench.hpp"
#include "tests/bench/steps.hpp"

namespace {

void add() {
  using namespace tapestry::bench;
  for (const char* name : {"decoder_step", "babygpt_step", "transformer_10k_step"})
    register_step(name, [name] { return step_of(name); });
}

}  // namespace

int main(int argc, char** argv) { return tapestry::bench::run_benchmarks(argc, argv, add); }
