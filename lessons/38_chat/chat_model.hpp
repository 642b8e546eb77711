// A chat model from a GGUF file, and a session with it: the tokens so far, in the KV cache.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/io/gguf.hpp"
#include "core/quantised/matrix.hpp"
#include "nn/llama/llama.hpp"
#include "nn/sample.hpp"
#include "nn/text/byte_level.hpp"
#include "nn/text/chat.hpp"

namespace tapestry::lesson38 {

namespace fs = std::filesystem;

/// Everything that turns a text into logits.
struct ChatModel {
  Gguf file;                                                ///< the metadata, and the weights in their blocks
  Llama llama;                                              ///< the model
  ByteLevelBpe tokenizer;                                   ///< text to ids and back
  Size context = 0;                                         ///< the largest number of tokens in the cache
  std::string question = "What is the capital of France?";  ///< the question that the chapter asks
};

/// Reads a GGUF file. `context` limits the number of tokens; 0 takes the model's own limit. Throws Error, with the
/// path, for files and architectures that the library cannot run.
ChatModel read_chat_model(const fs::path& path, QuantisedArithmetic arithmetic, Size context = 0);
/// As read_chat_model(), for a file that has been read.
ChatModel chat_model_of(Gguf file, QuantisedArithmetic arithmetic, Size context = 0);
/// Returns the path of the tiny model of this lesson, in any working directory.
fs::path tiny_model();

/// The tokens that a model has read. Copies share nothing.
class Session {
 public:
  /// Starts without tokens. `model` must outlive the session.
  explicit Session(const ChatModel& model);

  /// Reads tokens, and returns the logits (V) after the last one. Throws Error if there is no room for the tokens.
  /// Fills `trace` if it is given.
  Tensor read(const Ids& ids, LlamaTrace* trace = nullptr);
  /// Reads tokens, and returns the logits (T, V) after each one.
  Tensor read_all(const Ids& ids);
  /// Forgets all tokens.
  void reset();

  /// Number of tokens read, and number of tokens that still fit into the context.
  Size length() const { return cache_.length(); }
  Size room() const { return model_->context - length(); }
  const ChatModel& model() const { return *model_; }

 private:
  void check_room(const Ids& ids) const;

  const ChatModel* model_;
  LlamaCache cache_;
};

/// Draws tokens from logits, with temperature, top-k and top-p.
class Sampler {
 public:
  /// Uses temperature, top_k, top_p and seed of `options`.
  explicit Sampler(SamplingOptions options);
  /// Returns the next token, given logits (V). With temperature 0, it is the one with the largest logit, and the
  /// smallest id among equal ones. A draw depends on the seed and on the number of draws before it. Throws Error if
  /// the logits have a NaN.
  std::int64_t draw(const Tensor& logits);

 private:
  SamplingOptions options_;
  std::uint64_t draws_ = 0;
};

/// An answer of the model.
struct Answer {
  Ids ids;             ///< all tokens that were drawn, and the end token if `ended`
  bool ended = false;  ///< the model ended its answer
  bool full = false;   ///< the context was full
};

/// Receives each token of an answer except the end. If it returns false, the answer stops.
using OnToken = std::function<bool(std::int64_t id)>;

/// Writes an answer token by token. The last of the answer's ids is not in the session's cache. One token of room is
/// kept for the end token.
class AnswerWriter {
 public:
  /// Writes an answer to `prompt` of at most `most` tokens. Session and sampler must outlive the writer.
  AnswerWriter(Session& session, Ids prompt, const ChatTemplate& format, Sampler& sampler, Size most);
  /// Draws the next token, and reads the prompt before the first one. Returns true if more tokens follow.
  bool next(const OnToken& on_token);
  /// The answer so far.
  const Answer& answer() const { return answer_; }

 private:
  bool ends(std::int64_t id) const;

  Session* session_;
  Sampler* sampler_;
  Ids unread_;
  Size most_;
  std::optional<std::int64_t> end_;  // of the chat template
  Answer answer_;
};

/// Writes a whole answer with AnswerWriter.
Answer write_answer(Session& session, const Ids& prompt, const ChatTemplate& format, Sampler& sampler,
                    Size most, const OnToken& on_token);

/// Returns `text` with its line ends and tabs, and without any other character that could control a terminal.
std::string safe_text(std::string_view text);

}  // namespace tapestry::lesson38
