// Writing with a cache, greedily and with a beam, under the names of peers/generation.py.
#include "tests/bench/bench.hpp"
#include "tests/bench/steps.hpp"

namespace tapestry::bench {

namespace {

constexpr Size kPrompt = 16, kWritten = 240, kPlaces = 256;

Step generate(Size rows) {
  const auto model = std::make_shared<LanguageModel>(options_of({65, rows, kPlaces, 128, 4, 512, 4}));
  model->initialise(1);
  model->eval();
  const Indices prompt = random_ids({rows, kPrompt}, 65);
  SearchOptions options;
  options.first = prompt.column(kPrompt - 1).to_vector();
  options.end = -1;
  options.max_length = kWritten;
  return [=] { benchmark::DoNotOptimize(greedy(*model->begin(prompt, kPlaces), options)); };
}

Step search() {
  constexpr Size kSentences = 16, kSource = 12, kLength = 16;
  const TransformerOptions side = options_of({6482, kSentences, 64, 192, 4, 384, 3, Activation::relu});
  const auto model = std::make_shared<TransformerTranslator>(TransformerTranslatorOptions{side, side});
  model->initialise(1);
  model->eval();
  const Indices source = random_ids({kSentences, kSource}, 6482);
  SearchOptions options;
  options.end = -1;
  options.max_length = kLength;
  options.beam = 5;
  return [=] { benchmark::DoNotOptimize(beam_search(*model->begin(source, {}), options)); };
}

void add() {
  register_step("generate_B1", [] { return generate(1); });
  register_step("generate_B16", [] { return generate(16); });
  register_step("beam_search_5x16", search);
}

}  // namespace

}  // namespace tapestry::bench

int main(int argc, char** argv) { return tapestry::bench::run_benchmarks(argc, argv, tapestry::bench::add); }
