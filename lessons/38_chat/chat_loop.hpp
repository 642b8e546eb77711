// A conversation with a chat model: messages in, answers out, and the history in the KV cache.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/38_chat/chat_model.hpp"
#include "lessons/38_chat/options.hpp"
#include "nn/text/utf8_stream.hpp"

namespace tapestry::lesson38 {

/// A conversation. Each answer is printed while the model writes it.
class Conversation {
 public:
  /// Receives text of the answer, or a note about it. Both are safe on a terminal.
  using Print = std::function<void(std::string_view text)>;
  using Stop = std::function<bool()>;  ///< returns true if the answer must stop

  /// `model` must outlive the conversation. Throws Error for a model without a known chat template.
  Conversation(const ChatModel& model, const ChatSettings& settings, Print print, Print note, Stop stop);

  /// Sends a message of the user and prints the answer. If the conversation becomes longer than the context, it drops
  /// the oldest messages and says so. A message that does not fit at all is refused with a sentence.
  void say(const std::string& message);
  /// As say(), in steps: begin() sends the message and returns false if it is refused. Then write_token() prints one
  /// token, and returns true if more tokens follow.
  bool begin(const std::string& message);
  bool write_token();
  /// Uses the sampling options and the longest answer of `settings` from the next message on.
  void change(const ChatSettings& settings);
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
  Print print_, note_;
  Stop stop_;
  Session session_;
  ChatTemplate format_;
  Sampler sampler_;
  std::vector<ChatMessage> messages_;
  Ids unread_;  // end of the last answer, which is not in the cache
  std::optional<AnswerWriter> writer_;
  Utf8Stream characters_;  // of the answer that writer_ writes
};

/// Reads messages from standard input until its end. On a terminal it shows a prompt, and Ctrl-C stops the answer.
void chat_on_terminal(const ChatSettings& settings);

}  // namespace tapestry::lesson38
