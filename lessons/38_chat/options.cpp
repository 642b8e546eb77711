#include "lessons/38_chat/options.hpp"

#include <fmt/format.h>

#include "core/simd/runtime/threads.hpp"
#include "lessons/38_chat/chat_loop.hpp"
#include "lessons/38_chat/modes.hpp"

namespace tapestry::lesson38 {

QuantisedArithmetic ChatSettings::arithmetic_of(bool exact) const {
  const bool f32 = arithmetic == "f32" || (arithmetic == "auto" && exact);
  return f32 ? QuantisedArithmetic::f32 : QuantisedArithmetic::int8;
}

fs::path ChatSettings::model_file() const { return weights.empty() ? tiny_model() : weights; }

void add_options(kit::Lesson& program, ChatSettings& settings) {
  program.add(
      "--weights", settings.weights,
      "GGUF file of a chat model, such as SmolLM2-135M-Instruct.Q4_1.gguf. It opens a chat, unless another "
      "option asks for something else. Without it, the lesson's tiny model is used");
  program.add_flag("--chapter", settings.chapter, "With --weights: run the chapter with this model");
  program.add_flag(
      "--chat", settings.chat,
      "Open a chat with the model: each line of standard input is a message. /reset starts anew, /quit "
      "and the end of the input end the chat, and Ctrl-C stops an answer");
  program.add("--answer", settings.text, "Print the answer to this message, and do nothing else");
  program.add_flag(
      "--ids", settings.ids,
      "With --answer: then print the answer's token ids on one line, with the token that ended it");
  program.add("--tokenize", settings.to_tokenize,
              "Print the token ids of this text on one line, and do nothing else");
  program.add("--score", settings.text_file,
              "Print the loss per token and the perplexity of this UTF-8 text file, and do nothing else");
  program.add_flag("--bench", settings.bench,
                   "Print how many tokens per second the model reads and writes, and do nothing else");
  for (const char* name : {"--answer", "--tokenize", "--score", "--bench"}) program.prints_result(name);
  program.add("--system", settings.system, "System message (default: the model's own)");
  program.add_flag("--greedy", settings.greedy,
                   "Always choose the most likely token, and multiply in f32, so that the answer is exact");
  program.add("--max", settings.most, "Largest number of tokens in an answer", 1, 1'000'000);
  program.add("--context", settings.context,
              "Largest number of tokens in the cache; 0: as many as the model allows", 0, 10'000'000);
  program.add("--temperature", settings.sampling.temperature,
              "Sampling temperature; 0 always chooses the most likely token", 0, 100);
  program.add("--top-k", settings.sampling.top_k, "Sample among this number of most likely tokens; 0 for all",
              0, 1'000'000);
  program.add("--top-p", settings.sampling.top_p,
              "Sample among the fewest tokens whose probabilities sum to this or more", 1e-6, 1);
  program.add(
      "--arithmetic", settings.arithmetic,
      "int8 rounds the activations to 8 bits, which is faster; f32 does not; auto is f32 for --greedy, --score "
      "and the chapter, and otherwise int8",
      {"auto", "int8", "f32"});
  program.add("--threads", settings.threads, "Number of threads; 0: TAPESTRY_THREADS, or all cores", 0,
              simd::kMaxThreads);
}

bool does_without_chapter(const kit::Lesson& program, const kit::Options& options, ChatSettings& settings) {
  std::string chosen;
  for (const char* name : {"--chat", "--answer", "--tokenize", "--score", "--bench", "--chapter"}) {
    if (!program.given(name)) continue;
    if (!chosen.empty())
      throw kit::UsageError(fmt::format("{} and {} exclude each other; leave one of them out", chosen, name));
    chosen = name;
  }
  if (chosen.empty()) chosen = settings.weights.empty() ? "--chapter" : "--chat";
  if (settings.ids && chosen != "--answer")
    throw kit::UsageError("--ids needs --answer; add --answer, or leave out --ids");
  if (settings.greedy) settings.sampling.temperature = 0;
  settings.sampling.seed = options.seed;
  settings.has_system = program.given("--system");
  if (settings.threads > 0) simd::set_thread_count(static_cast<int>(settings.threads));

  if (chosen == "--tokenize") {
    print_ids(settings);
  } else if (chosen == "--answer") {
    print_answer(settings);
  } else if (chosen == "--score") {
    print_score(settings);
  } else if (chosen == "--bench") {
    print_speed(settings, options.smoke);
  } else if (chosen == "--chat") {
    chat_on_terminal(settings);
  }
  return chosen != "--chapter";
}

}  // namespace tapestry::lesson38
