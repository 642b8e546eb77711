#include "lessons/38_chat/modes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/ops/join.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/softmax.hpp"
#include "core/ops/views.hpp"
#include "core/simd/runtime/threads.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "lessons/kit/text/text.hpp"
#include "nn/text/utf8_stream.hpp"

namespace tapestry::lesson38 {

void print_ids(const ChatSettings& settings) {
  const ByteLevelBpe tokenizer = tokenizer_of(read_gguf(settings.model_file()));
  fmt::print("{}\n", fmt::join(tokenizer.encode(settings.to_tokenize), " "));
}

std::vector<ChatMessage> first_messages(const ChatSettings& settings, const std::string& user) {
  std::vector<ChatMessage> messages;
  if (settings.has_system) messages.push_back({"system", settings.system});
  messages.push_back({"user", user});
  return messages;
}

void print_answer(const ChatSettings& settings) {
  const ChatModel model =
      read_chat_model(settings.model_file(), settings.arithmetic_of(settings.greedy), settings.context);
  const ChatTemplate format = chat_template_of(model.file);
  Session session(model);
  Sampler sampler(settings.sampling);
  Utf8Stream characters;
  const auto show = [](const std::string& text) {
    fmt::print("{}", safe_text(text));
    std::fflush(stdout);
  };
  const Answer answer =
      write_answer(session, chat_ids(model.tokenizer, format.render(first_messages(settings, settings.text))),
                   format, sampler, settings.most, [&](std::int64_t id) {
                     show(characters.push(model.tokenizer.bytes(id)));
                     return true;
                   });
  show(characters.finish() + "\n");
  if (settings.ids) fmt::print("{}\n", fmt::join(answer.ids, " "));
  if (answer.full)
    fmt::print(stderr, "The context of {} tokens is full, so the answer is cut.\n", model.context);
}

Score score(const ChatModel& model, const Ids& ids) {
  constexpr Size kPiece = 128;  // bounds the memory for the logits
  const Size all = static_cast<Size>(ids.size());
  if (all < 2)
    throw kit::UsageError(fmt::format("the text must have at least 2 tokens, got {}; use a longer one", all));
  Session session(model);
  Score result;
  double sum_of_losses = 0;
  for (Size at = 0; at < all;) {
    if (session.room() == 0) session.reset();
    const Size count = std::min({kPiece, all - at, session.room()});
    const Tensor log_p = log_softmax(session.read_all(Ids(ids.begin() + at, ids.begin() + at + count)), -1);
    // The last token of a part predicts nothing: the next one begins another part.
    const Size predicted = std::min(count, session.room() == 0 ? count - 1 : all - at - 1);
    if (predicted > 0) {
      const Indices next(Ids(ids.begin() + at + 1, ids.begin() + at + 1 + predicted), {predicted, 1});
      sum_of_losses -= sum(gather(slice(log_p, 0, 0, predicted), 1, next)).item();
      result.tokens += predicted;
    }
    at += count;
  }
  result.loss = sum_of_losses / static_cast<double>(result.tokens);
  return result;
}

void print_score(const ChatSettings& settings) {
  std::string text;
  for (const std::string& line : kit::read_lines(settings.text_file)) text += line + "\n";
  const ChatModel model =
      read_chat_model(settings.model_file(), settings.arithmetic_of(true), settings.context);
  Ids ids = model.tokenizer.encode(text, SpecialTokens::none);
  if (model.file.get<bool>("tokenizer.ggml.add_bos_token", false))
    ids.insert(ids.begin(), model.file.get<std::int64_t>("tokenizer.ggml.bos_token_id"));
  const Score of = score(model, ids);
  fmt::print("tokens          {}\nloss per token  {:.6f} nats\nperplexity      {:.4f}\n", of.tokens, of.loss,
             std::exp(of.loss));
}

Speed speed_of(const ChatModel& model, Size read, Size written, int rounds) {
  const Size longest = model.context;
  Speed speed{std::min(read, longest), std::min(written, longest)};
  const auto id = [&](Size i) { return (i * 7919 + 11) % model.tokenizer.size(); };  // any tokens
  Ids prompt;
  for (Size i = 0; i < speed.read; ++i) prompt.push_back(id(i));
  Session session(model);
  for (int round = 0; round < rounds; ++round) {
    session.reset();
    const double reading = kit::seconds([&] { session.read(prompt); });
    session.reset();
    const double writing = kit::seconds([&] {
      for (Size i = 0; i < speed.written; ++i) argmax(session.read({id(i)}), 0);
    });
    speed.prompt = std::max(speed.prompt, static_cast<double>(speed.read) / reading);
    speed.generation = std::max(speed.generation, static_cast<double>(speed.written) / writing);
  }
  return speed;
}

void print_speed(const ChatSettings& settings, bool smoke) {
  const ChatModel model =
      read_chat_model(settings.model_file(), settings.arithmetic_of(false), settings.context);
  const Speed speed = speed_of(model, smoke ? 32 : 512, smoke ? 8 : 128, smoke ? 1 : 3);
  fmt::print("prompt      {:8.1f} tokens/s, {} tokens at once\n", speed.prompt, speed.read);
  fmt::print("generation  {:8.1f} tokens/s, {} tokens one by one\n", speed.generation, speed.written);
  fmt::print("threads     {:6}, arithmetic {}\n", simd::thread_count(),
             settings.arithmetic_of(false) == QuantisedArithmetic::int8 ? "int8" : "f32");
}

}  // namespace tapestry::lesson38
