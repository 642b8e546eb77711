// The chat of lesson 38 with its tiny model: history, limits, commands, sampling, and the loss on a text.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/core.hpp"
#include "lessons/38_chat/chat_loop.hpp"
#include "lessons/38_chat/modes.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::lesson38 {
namespace {

using Catch::Matchers::ContainsSubstring;

ChatModel tiny(Size context = 0) { return read_chat_model(tiny_model(), QuantisedArithmetic::f32, context); }

ChatSettings greedy_settings(Size most) {
  ChatSettings settings;
  settings.sampling.temperature = 0;
  settings.most = most;
  settings.system = "Be brief.";
  settings.has_system = true;
  return settings;
}

/// A conversation whose output is a string.
struct Heard {
  Heard(const ChatModel& model, const ChatSettings& settings)
      : chat(
            model, settings, [this](std::string_view text) { output += text; },
            [this](std::string_view text) { output += "(" + std::string(text) + ")\n"; },
            [this] { return stop_after > 0 && --stop_after == 0; }) {}

  std::string output;
  int stop_after = 0;  // tokens; 0: never
  Conversation chat;
};

void append(Ids& ids, const Ids& more) { ids.insert(ids.end(), more.begin(), more.end()); }

/// Greedy answer after `ids`, without a cache: each step reads all tokens again.
Ids answer_anew(const ChatModel& model, Ids ids, Size most) {
  const std::int64_t end = *model.tokenizer.id(chat_template_of(model.file).end());
  Ids answer;
  while (static_cast<Size>(answer.size()) < most) {
    LlamaCache cache = model.llama.cache();
    const std::vector<double> logits = model.llama(ids, cache, true).to_vector();
    answer.push_back(std::max_element(logits.begin(), logits.end()) - logits.begin());
    if (answer.back() == end) break;
    ids.push_back(answer.back());
  }
  return answer;
}

}  // namespace

TEST_CASE("a chat keeps its history in the cache", "[lesson38]") {
  const ChatModel model = tiny();
  const ChatTemplate format = chat_template_of(model.file);
  const std::int64_t end = *model.tokenizer.id(format.end());
  constexpr Size kMost = 6;
  for (const int stop : {0, 3}) {  // all tokens, or until the user stops the first answer
    CAPTURE(stop);
    Heard heard(model, greedy_settings(kMost));
    heard.stop_after = stop;
    Ids ids = chat_ids(model.tokenizer, format.render({{"system", "Be brief."}, {"user", "Hello there"}}));
    Ids first = answer_anew(model, ids, stop > 0 ? stop : kMost);
    heard.chat.say("Hello there");
    CHECK((heard.output.find("(stopped)") != std::string::npos) == (stop > 0 && first.back() != end));
    if (first.back() == end) first.pop_back();
    CHECK(heard.chat.messages().back().content == model.tokenizer.decode(first));
    append(ids, first);
    ids.push_back(end);
    append(ids, chat_ids(model.tokenizer, format.render_next("Why?")));
    Ids second = answer_anew(model, ids, kMost);
    heard.chat.say("Why?");
    // All tokens but the last one of the answer are in the cache.
    CHECK(heard.chat.length() == static_cast<Size>(ids.size() + second.size()) - 1);
    if (second.back() == end) second.pop_back();
    CHECK(heard.chat.messages().back().content == model.tokenizer.decode(second));
    CHECK(heard.chat.messages().size() == 5);
  }
}

TEST_CASE("an answer in steps is that of say(), and options can change between messages", "[lesson38]") {
  const ChatModel model = tiny();
  ChatSettings settings = greedy_settings(40);
  Heard whole(model, settings), steps(model, settings);
  whole.chat.say("What is attention?");
  REQUIRE(steps.chat.begin("What is attention?"));
  int count = 1;
  std::size_t before = 0;
  for (; steps.chat.write_token(); ++count) {
    CHECK(steps.output.size() >= before);  // each token is printed at once
    CHECK(steps.chat.messages().size() == 2);
    before = steps.output.size();
  }
  CHECK(count > 10);
  CHECK(steps.output == whole.output);
  CHECK(steps.chat.messages().back().content == whole.chat.messages().back().content);
  CHECK_FALSE(steps.chat.begin(std::string(5000, 'x')));
  CHECK_THAT(steps.output, ContainsSubstring("(The message was not sent"));

  settings.most = 3;
  settings.sampling = {.temperature = 50, .seed = 5};
  whole.chat.change(settings);
  whole.output.clear();
  whole.chat.say("Why?");
  CHECK_THAT(whole.output, ContainsSubstring("cut after 3 tokens"));
  const std::string sampled = whole.output;
  const auto again = [&](std::uint64_t seed) {
    Heard other(model, greedy_settings(40));
    other.chat.say("What is attention?");
    settings.sampling.seed = seed;
    other.chat.change(settings);
    other.output.clear();
    other.chat.say("Why?");
    return other.output;
  };
  CHECK(again(5) == sampled);  // draws start anew
  CHECK(again(6) != sampled);
}

TEST_CASE("a conversation beyond the context loses its oldest messages", "[lesson38]") {
  const ChatModel whole = tiny();
  const ChatTemplate format = chat_template_of(whole.file);
  const auto length = [&](const std::vector<ChatMessage>& messages) {
    return static_cast<Size>(chat_ids(whole.tokenizer, format.render(messages)).size());
  };
  const Size one = length({{"system", "Be brief."}, {"user", "Hello there"}});
  const ChatModel model = tiny(one + 24);
  Heard heard(model, greedy_settings(4));
  for (int i = 0; i < 6; ++i) heard.chat.say("Hello there");
  CHECK_THAT(heard.output, ContainsSubstring("the model forgets the oldest message and its answer"));
  CHECK(heard.chat.length() < model.context);
  CHECK(heard.chat.messages().front().content == "Be brief.");
  CHECK(heard.chat.messages().back().role == "assistant");
  CHECK(heard.chat.messages().size() < 13);

  const std::vector<ChatMessage> before = heard.chat.messages();
  const Size cached = heard.chat.length();
  std::string long_message;
  for (int i = 0; i < 400; ++i) long_message += "word ";
  heard.output.clear();
  heard.chat.say(long_message);
  CHECK_THAT(heard.output, ContainsSubstring("The message was not sent"));
  CHECK(heard.chat.messages().size() == before.size());
  CHECK(heard.chat.length() == cached);

  const Size asked = length({{"system", "Be brief."}, {"user", "What is attention?"}});
  const ChatModel narrow = tiny(asked * 4 / 3 + 2);
  Heard cut(narrow, greedy_settings(1000));  // more than the context has
  cut.chat.say("What is attention?");
  CHECK_THAT(cut.output, ContainsSubstring("so the answer is cut"));
  CHECK(cut.chat.length() == narrow.context - 1);  // the end token still fits
  cut.chat.say("What is attention?");
  CHECK(cut.chat.messages().size() == 3);  // goes on without the first question
}

TEST_CASE("lines of a chat are commands or messages", "[lesson38]") {
  const ChatModel model = tiny();
  Heard heard(model, greedy_settings(2));
  CHECK(heard.chat.handle("  "));
  CHECK(heard.output.empty());
  CHECK(heard.chat.handle("Hello"));
  CHECK(heard.chat.messages().size() == 3);
  CHECK(heard.chat.handle(" /reset "));
  CHECK(heard.chat.messages().size() == 1);
  CHECK(heard.chat.length() == 0);
  CHECK(heard.chat.handle("/help"));
  CHECK_THAT(heard.output, ContainsSubstring("/help is not a command"));
  CHECK(heard.chat.messages().size() == 1);
  CHECK(heard.chat.handle("/etc is a folder"));
  CHECK(heard.chat.messages()[1].content == "/etc is a folder");
  CHECK_FALSE(heard.chat.handle("/quit"));
}

TEST_CASE("a sampler draws as its options say", "[lesson38]") {
  const Tensor logits = log(tensor({0.1, 0.5, 0.25, 0.15}));
  const auto counts = [&](SamplingOptions options) {
    Sampler sampler(options);
    std::vector<double> count(4, 0.0);
    for (int i = 0; i < 4000; ++i) count[static_cast<std::size_t>(sampler.draw(logits))] += 1.0 / 4000;
    return count;
  };
  CHECK(Sampler({.temperature = 0}).draw(tensor({1, 3, 3})) == 1);
  const auto near = [](const std::vector<double>& got, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(got[i] - expected[i]) < 0.03);
  };
  near(counts({.temperature = 0}), {0, 1, 0, 0});
  near(counts({}), {0.1, 0.5, 0.25, 0.15});
  near(counts({.top_k = 2}), {0, 2 / 3.0, 1 / 3.0, 0});
  near(counts({.top_k = 9, .top_p = 0.8}), {0, 5 / 9.0, 2.5 / 9, 1.5 / 9});
  near(counts({.temperature = 0.5}), {0.01 / 0.345, 0.25 / 0.345, 0.0625 / 0.345, 0.0225 / 0.345});
  CHECK(counts({.seed = 3}) == counts({.seed = 3}));
  CHECK(counts({.seed = 3}) != counts({.seed = 4}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(Sampler({.temperature = 0}).draw(tensor({1, nan})), ContainsSubstring("NaN"));
}

TEST_CASE("the loss on a text counts each token once, in parts of the context", "[lesson38]") {
  const ChatModel whole = tiny();
  Ids ids;
  for (Size i = 0; i < 300; ++i) ids.push_back((i * 31 + 7) % whole.tokenizer.size());
  for (const Size context : {Size{2}, Size{7}, std::min<Size>(whole.context, 150)})
    for (const Size length : {Size{2}, context, context + 1, Size{15}, Size{300}}) {
      if (length > 15 && context < 10) continue;
      CAPTURE(context, length);
      const ChatModel model = tiny(context);
      const Ids text(ids.begin(), ids.begin() + length);
      double sum = 0;
      Size tokens = 0;
      for (Size start = 0; start < length; start += context) {
        const Size stop = std::min(length, start + context);
        LlamaCache cache = whole.llama.cache();
        for (Size at = start; at + 1 < stop; ++at, ++tokens) {  // one by one
          const auto place = static_cast<std::size_t>(at);
          const std::vector<double> logits = whole.llama({text[place]}, cache).to_vector();
          double total = 0;
          for (const double logit : logits) total += std::exp(logit);
          sum += std::log(total) - logits[static_cast<std::size_t>(text[place + 1])];
        }
      }
      const Score got = score(model, text);
      CHECK(got.tokens == tokens);
      CHECK(std::abs(got.loss - sum / static_cast<double>(tokens)) < 1e-4);
    }
  CHECK_THAT(kit::usage_error([&] { score(whole, {1}); }), ContainsSubstring("at least 2 tokens"));
}

TEST_CASE("text from a model cannot control a terminal", "[lesson38]") {
  CHECK(safe_text("a\tb\n\x1b[2Jc\r\x07") == "a\tb\n [2Jc  ");
  CHECK(safe_text("naïve 日本") == "naïve 日本");
  CHECK(safe_text("").empty());
}

}  // namespace tapestry::lesson38
