// A conversation with a chat model: messages in, answers out, and the history in the KV cache.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/38_chat/chat_model.hpp"
#include "lessons/38_chat/options.hpp"

namespace tapestry::lesson38 {

/// A conversation. Each answer is printed while the model writes it.
class Conversation {
 public:
  using Print = std::function<void(std::string_view text)>;  ///< receives text that is safe on a terminal
  using Stop = std::function<bool()>;                        ///< returns true if the answer must stop

  /// `model` must outlive the conversation. Throws Error for a model without a known chat template.
  Conversation(const ChatModel& model, const ChatSettings& settings, Print print, Stop stop);

  /// Sends a message of the user and prints the answer. If the conversation becomes longer than the context, it drops
  /// the oldest messages and says so. A message that does not fit at all is refused with a sentence.
  void say(const std::string& message);
  /// Forgets all messages but the system message.
  void reset();
  /// Handles a line of input: a command, or a message. Returns false after /quit.
  bool handle(const std::string& line);

  /// The messages so far.
  const std::vector<ChatMessage>& messages() const { return messages_; }
  /// Tokens in the cache.
  Size length() const { return session_.length(); }

 private:
  std::optional<Ids> next_ids(const std::string& message);

  ChatSettings settings_;
  Print print_;
  Stop stop_;
  Session session_;
  ChatTemplate format_;
  Sampler sampler_;
  std::vector<ChatMessage> messages_;
  Ids unread_;  // end of the last answer, which is not in the cache
};

/// Reads messages from standard input until its end. On a terminal it shows a prompt, and Ctrl-C stops the answer.
void chat_on_terminal(const ChatSettings& settings);

}  // namespace tapestry::lesson38
