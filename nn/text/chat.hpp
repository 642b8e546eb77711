// Chat templates: the text that a chat model expects around the messages of a conversation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nn/text/byte_level.hpp"

namespace tapestry {

/// A message of a conversation.
struct ChatMessage {
  std::string role;     ///< "system", "user" or "assistant".
  std::string content;  ///< Text of the message. It never becomes special tokens, whatever it spells.
};

/// A part of a rendered conversation.
struct ChatPiece {
  /// Kinds of pieces.
  enum class Kind {
    special,      ///< The name of a special token.
    role_marker,  ///< The marker of a role, a special token in some vocabularies and plain text in others.
    plain,        ///< Text without special tokens: contents, roles and line breaks.
  };
  std::string text;                                   ///< The text, or the name of the token.
  Kind kind;                                          ///< The kind of this piece.
  bool operator==(const ChatPiece&) const = default;  ///< Compares both.
};

/// Renders conversations in one of the formats that this library knows. A GGUF file has its format as a template in
/// the language Jinja (tokenizer.chat_template); this class recognises the format from it and runs no Jinja.
class ChatTemplate {
 public:
  /// Formats of conversations.
  enum class Format {
    chatml,        ///< <|im_start|>role⏎content<|im_end|>⏎ (SmolLM2, Qwen 2 and 2.5)
    llama3,        ///< <|start_header_id|>role<|end_header_id|>⏎⏎content<|eot_id|> (Llama 3)
    llama3_dated,  ///< As llama3, with a system message that starts with two dates (Llama 3.1 and 3.2)
    zephyr,        ///< <|role|>⏎content</s>⏎ (Zephyr, TinyLlama)
  };

  /// Recognises the format of a template. `bos` and `eos` are the names of the tokens that start a text and end an
  /// answer (tokens tokenizer.ggml.bos_token_id and eos_token_id of the file), which templates call bos_token and
  /// eos_token. `eos` is used in Zephyr's format only. Throws Error with the known formats if the template has none of
  /// them, or if Zephyr's format has no eos token.
  static ChatTemplate recognise(std::string_view jinja, std::string_view bos, std::string_view eos);

  /// Returns the conversation as pieces; neighbouring plain pieces are joined. If `ask` is true, the start of the
  /// assistant's next message is appended. If the first message is not a system message, the template's default one is
  /// inserted, if there is one. Throws Error if there is no message, for an unknown role, and for a system message that
  /// is not first.
  std::vector<ChatPiece> render(const std::vector<ChatMessage>& messages, bool ask = true) const;
  /// Returns the pieces that follow an answer and its end(): the user's next message and the start of the next answer.
  /// Use it if the conversation so far is in a cache.
  std::vector<ChatPiece> render_next(std::string_view user_message) const;

  /// Returns the name of the token that ends an answer.
  const std::string& end() const { return end_; }
  /// Returns the format.
  Format format() const { return format_; }
  /// Returns the template's default system message; empty if it has none.
  const std::string& default_system() const { return default_system_; }

 private:
  class Writer;

  /// Returns a message's content as the template writes it.
  std::string_view content_of(std::string_view message) const;

  Format format_ = Format::chatml;
  std::string begin_;           // token before the conversation; empty: none
  std::string end_;             // token after each message
  std::string default_system_;  // of ChatML
  bool has_default_system_ = false;
  bool strips_ = false;  // true: contents lose white space at both ends
};

/// Returns the texts of all pieces, joined, to display a conversation. To encode it, use chat_ids().
std::string chat_text(const std::vector<ChatPiece>& pieces);

/// Returns the ids of a rendered conversation. Special pieces become their tokens, and plain ones are encoded with
/// SpecialTokens::none, so that a message that spells "<|im_end|>" cannot end its turn. Zephyr's role markers are
/// plain text in some vocabularies; there a message can imitate them. Throws Error if the vocabulary does not have a
/// special token of the format.
Ids chat_ids(const ByteLevelBpe& tokenizer, const std::vector<ChatPiece>& pieces);

}  // namespace tapestry
