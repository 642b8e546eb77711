// Uses of a model that print one result: ids, an answer, the loss on a text, and the speed.
#pragma once

#include "lessons/38_chat/chat_model.hpp"
#include "lessons/38_chat/options.hpp"

namespace tapestry::lesson38 {

/// Prints the ids of --tokenize on one line.
void print_ids(const ChatSettings& settings);

/// Prints the answer to --answer and, with --ids, its ids.
void print_answer(const ChatSettings& settings);
/// Returns the messages before the first answer: the system message of --system, if there is one, and the user's.
std::vector<ChatMessage> first_messages(const ChatSettings& settings, const std::string& user);

/// The loss on a text.
struct Score {
  Size tokens = 0;  ///< number of predicted tokens
  double loss = 0;  ///< mean −log P of a token, in nats
};
/// Predicts each token of a text from those before it. A text that is longer than the context is cut into parts of
/// this length. The first token of a part is not predicted, because nothing comes before it. Throws UsageError for a
/// text of fewer than two tokens.
Score score(const ChatModel& model, const Ids& ids);
/// Prints the loss and the perplexity of --score.
void print_score(const ChatSettings& settings);

/// Tokens per second.
struct Speed {
  Size read = 0, written = 0;  ///< number of tokens that were timed
  double prompt = 0;           ///< speed of reading them all at once
  double generation = 0;       ///< speed of reading them one by one, from an empty cache
};
/// Measures the speed. Each figure is the best of `rounds`, which take turns.
Speed speed_of(const ChatModel& model, Size read, Size written, int rounds);
/// Prints the speeds of --bench.
void print_speed(const ChatSettings& settings, bool smoke);

}  // namespace tapestry::lesson38
