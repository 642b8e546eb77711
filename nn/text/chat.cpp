// Chat templates: recognising a format, rendering, and encoding the result.
#include "nn/text/chat.hpp"

#include <cstddef>
#include <utility>

#include "core/io/text.hpp"
#include "core/tensor/error.hpp"
#include "nn/text/unicode.hpp"
#include "nn/text/utf8.hpp"

namespace tapestry {
namespace {

using Kind = ChatPiece::Kind;

/// Start of Llama 3.1's system message, with the date that its template uses by default.
constexpr std::string_view kDates = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

/// Returns true for the characters that Python's strip() removes.
bool is_stripped(char32_t point) {
  return character_class(point) == CharacterClass::space || (point >= 0x1C && point <= 0x1F);
}

std::string_view stripped(std::string_view text) {
  std::size_t first = text.size(),
              last = 0;  // the text from its first to its last character that is not stripped
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    const std::size_t after = at + (length == 0 ? 1 : length);
    if (length == 0 || !is_stripped(first_code_point(text.substr(at)))) {
      if (first == text.size()) first = at;
      last = after;
    }
    at = after;
  }
  return first < last ? text.substr(first, last - first) : std::string_view();
}

/// Returns the rest, from `at` on, of a string literal in a Jinja template that is delimited by `quote`. Resolves
/// escapes.
std::string literal_from(std::string_view jinja, std::size_t at, char quote) {
  std::string text;
  for (; at < jinja.size() && jinja[at] != quote; ++at) {
    char c = jinja[at];
    if (c == '\\' && at + 1 < jinja.size()) {
      c = jinja[++at];
      if (c == 'n') c = '\n';
    }
    text += c;
  }
  return text;
}

/// Returns true, and the text in `system`, if a ChatML template has a literal
/// "<|im_start|>system⏎…<|im_end|>".
bool find_default_system(std::string_view jinja, std::string& system) {
  constexpr std::string_view start = "<|im_start|>system", end = "<|im_end|>";
  for (std::size_t at = jinja.find(start); at != jinja.npos; at = jinja.find(start, at + 1)) {
    if (at == 0 || (jinja[at - 1] != '\'' && jinja[at - 1] != '"')) continue;
    const std::string literal = literal_from(jinja, at + start.size(), jinja[at - 1]);
    const std::size_t stop = literal.find(end);
    if (literal.substr(0, 1) != "\n" || stop == literal.npos) continue;
    system = literal.substr(1, stop - 1);
    return true;
  }
  return false;
}

/// Returns true if the user's messages end in the eos token. In other formats with <|user|>, they end differently.
bool is_zephyr(std::string_view jinja) {
  const std::size_t at = jinja.find("<|user|>");
  if (at == jinja.npos) return false;
  const std::size_t stop = jinja.find('}', at);
  return contains(jinja.substr(at, stop == jinja.npos ? stop : stop - at), "eos_token");
}

}  // namespace

/// Appends pieces, joining plain text.
class ChatTemplate::Writer {
 public:
  explicit Writer(const ChatTemplate& format) : format_(format) {}

  void add(std::string_view text, Kind kind) {
    if (text.empty()) return;
    if (kind == Kind::plain && !pieces_.empty() && pieces_.back().kind == Kind::plain)
      pieces_.back().text += text;
    else
      pieces_.push_back({std::string(text), kind});
  }

  void start(std::string_view role) {
    switch (format_.format_) {
      case Format::chatml:
        add("<|im_start|>", Kind::special);
        add(role, Kind::plain);
        return add("\n", Kind::plain);
      case Format::llama3:
      case Format::llama3_dated:
        add("<|start_header_id|>", Kind::special);
        add(role, Kind::plain);
        add("<|end_header_id|>", Kind::special);
        return add("\n\n", Kind::plain);
      case Format::zephyr:
        add("<|" + std::string(role) + "|>", Kind::role_marker);
        return add("\n", Kind::plain);
    }
  }

  /// Text between an answer's last token and the next message.
  void finish() {
    if (format_.format_ == Format::chatml || format_.format_ == Format::zephyr) add("\n", Kind::plain);
  }

  void message(std::string_view role, std::string_view content) {
    start(role);
    add(content, Kind::plain);
    add(format_.end_, Kind::special);
    finish();
  }

  std::vector<ChatPiece> pieces() && { return std::move(pieces_); }

 private:
  const ChatTemplate& format_;
  std::vector<ChatPiece> pieces_;
};

ChatTemplate ChatTemplate::recognise(std::string_view jinja, std::string_view bos, std::string_view eos) {
  ChatTemplate result;
  // Similar templates that are not supported: they omit earlier reasoning, or have an additional token (Phi-4).
  const bool differs =
      contains(jinja, "think>") || contains(jinja, "reasoning") || contains(jinja, "<|im_sep|>");
  result.strips_ = contains(jinja, "|trim") || contains(jinja, "| trim") || contains(jinja, ".strip()");
  if (!differs && contains(jinja, "<|im_start|>") && contains(jinja, "<|im_end|>")) {
    result.format_ = Format::chatml;
    result.end_ = "<|im_end|>";
    result.has_default_system_ = find_default_system(jinja, result.default_system_);
  } else if (!differs && contains(jinja, "<|start_header_id|>") && contains(jinja, "<|eot_id|>")) {
    result.format_ = contains(jinja, "Cutting Knowledge Date") ? Format::llama3_dated : Format::llama3;
    result.end_ = "<|eot_id|>";
  } else if (!differs && contains(jinja, "<|assistant|>") && is_zephyr(jinja)) {
    result.format_ = Format::zephyr;
    result.end_ = eos;
    if (eos.empty()) fail("[chat] Zephyr's format must have an eos token, got none; name the file's");
  } else {
    fail(
        "[chat] the template must be ChatML (<|im_start|>, SmolLM2 and Qwen 2), Llama 3 (<|start_header_id|>) or "
        "Zephyr (<|user|>, TinyLlama), without thoughts, got '{}'; use a model with one of these",
        printable(jinja, 60));
  }
  if (contains(jinja, "bos_token")) result.begin_ = bos;
  return result;
}

std::vector<ChatPiece> ChatTemplate::render(const std::vector<ChatMessage>& messages, bool ask) const {
  if (messages.empty()) fail("[chat] a conversation must have a message, got none; add the user's first one");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    if (role != "system" && role != "user" && role != "assistant")
      fail("[chat] the role must be system, user or assistant, got '{}' in message {}", printable(role), i);
    if (role == "system" && i != 0)
      fail("[chat] a system message must be the first, got one as message {}; start a new conversation", i);
  }
  Writer writer(*this);
  writer.add(begin_, Kind::special);
  std::size_t next = 0;
  if (format_ == Format::llama3_dated) {
    std::string system(kDates);
    if (messages[0].role == "system") system += content_of(messages[next++].content);
    writer.message("system", system);
  } else if (has_default_system_ && messages[0].role != "system") {
    writer.message("system", default_system_);
  }
  for (; next < messages.size(); ++next)
    writer.message(messages[next].role, content_of(messages[next].content));
  if (ask) writer.start("assistant");
  return std::move(writer).pieces();
}

std::vector<ChatPiece> ChatTemplate::render_next(std::string_view user_message) const {
  Writer writer(*this);
  writer.finish();
  writer.message("user", content_of(user_message));
  writer.start("assistant");
  return std::move(writer).pieces();
}

std::string_view ChatTemplate::content_of(std::string_view message) const {
  return strips_ ? stripped(message) : message;
}

std::string chat_text(const std::vector<ChatPiece>& pieces) {
  std::string text;
  for (const ChatPiece& piece : pieces) text += piece.text;
  return text;
}

Ids chat_ids(const ByteLevelBpe& tokenizer, const std::vector<ChatPiece>& pieces) {
  Ids ids;
  std::string plain;  // text since the last special token, since a token may span two pieces
  const auto flush = [&] {
    const Ids more = tokenizer.encode(plain, SpecialTokens::none);
    ids.insert(ids.end(), more.begin(), more.end());
    plain.clear();
  };
  for (const ChatPiece& piece : pieces) {
    const auto id = piece.kind == Kind::plain ? std::nullopt : tokenizer.id(piece.text);
    const bool known = id && tokenizer.type(*id) != TokenType::normal;
    if (known) {
      flush();
      ids.push_back(*id);
    } else if (piece.kind == Kind::special) {
      fail(
          "[chat] the vocabulary must have the special token '{}', got none; use the tokens of the template's file",
          printable(piece.text));
    } else {
      plain += piece.text;
    }
  }
  flush();
  return ids;
}

}  // namespace tapestry
