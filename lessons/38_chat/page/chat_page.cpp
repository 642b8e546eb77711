// The chat in a page of the book, for lessons/web/chat_worker.js. The worker calls the exported functions, and sets
// `module.bytes` before a call that takes a number of bytes. `module.tell(kind, text)` receives what happens:
//
//     text     the next characters of the answer
//     note     a sentence about the answer or the message, such as "stopped"
//     refused  an error: the model cannot be loaded, or the answer cannot continue
//
// The conversation is that of the terminal (chat_loop.hpp). The weights are read once, into the memory in which the
// model uses them.
#include <emscripten.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "core/tensor/error.hpp"
#include "lessons/38_chat/chat_loop.hpp"
#include "lessons/kit/text/utf8.hpp"

// A pointer above 2 GB is negative in JavaScript.
EM_JS(void, tapestry_chat_take, (void* to), { HEAPU8.set(Module['bytes'], to >>> 0); })
EM_JS(void, tapestry_chat_tell, (const char* kind, const char* text),
      { Module['tell'](UTF8ToString(kind), UTF8ToString(text)); })

namespace tapestry::lesson38 {
namespace {

constexpr double kLargest = 0xF000'0000;  // a page has at most 4 GB, also for keys, values and the program

/// A model and a conversation with it.
struct Page {
  std::shared_ptr<std::byte> file;  // bytes of the GGUF file
  std::size_t size = 0, have = 0;   // of the file, and read so far
  std::optional<ChatModel> model;
  ChatSettings settings;
  std::unique_ptr<Conversation> conversation;
  bool stop = false;
};

Page& page() {
  static Page only;
  return only;
}

void tell(const char* kind, std::string_view text) { tapestry_chat_tell(kind, std::string(text).c_str()); }

std::string taken(double count) {
  std::string text(static_cast<std::size_t>(count), '\0');
  tapestry_chat_take(text.data());
  return text;
}

/// Returns the result of `action`. Reports an exception and returns false instead.
template <class Action>
bool attempt(const Action& action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    tell("refused",
         "the browser gives the page no more memory; use a smaller model or a shorter conversation");
  } catch (const std::exception& error) {
    tell("refused", kit::printable(error.what()));
  }
  page().conversation.reset();
  return false;
}

void use(double temperature, double top_k, double top_p, double seed, double most) {
  ChatSettings& settings = page().settings;
  settings.sampling.temperature = temperature;
  settings.sampling.top_k = static_cast<Size>(top_k);
  settings.sampling.top_p = top_p;
  settings.sampling.seed = static_cast<std::uint64_t>(seed);
  settings.most = static_cast<std::int64_t>(most);
}

}  // namespace

extern "C" {

/// Makes room for a file of `size` bytes. Its parts follow in chat_append().
EMSCRIPTEN_KEEPALIVE bool chat_reserve(double size) {
  return attempt([&] {
    void* room = size < kLargest ? std::malloc(static_cast<std::size_t>(size) + 1) : nullptr;
    if (!room)
      fail("a page has at most 4 GB of memory, got a file of {:.1f} GB; use a smaller one, or a terminal",
           size / 1e9);
    page().file = {static_cast<std::byte*>(room), std::free};
    page().size = static_cast<std::size_t>(size);
    return true;
  });
}

/// Appends `count` bytes to the file.
EMSCRIPTEN_KEEPALIVE bool chat_append(double count) {
  const auto more = static_cast<std::size_t>(count);
  if (more > page().size - page().have) return false;
  tapestry_chat_take(page().file.get() + page().have);
  page().have += more;
  return true;
}

/// Loads the model of the file, whose name has `count` bytes.
EMSCRIPTEN_KEEPALIVE bool chat_open(double count) {
  return attempt([&] {
    const Page& from = page();
    page().model.emplace(chat_model_of(parse_gguf({from.file.get(), from.have}, taken(count), from.file),
                                       from.settings.arithmetic_of(false)));
    chat_template_of(from.model->file);  // refuses a model that is not for chats
    return true;
  });
}

/// The largest number of tokens in the cache, and their present number.
EMSCRIPTEN_KEEPALIVE double chat_context() { return static_cast<double>(page().model->context); }
EMSCRIPTEN_KEEPALIVE double chat_length() {
  return page().conversation ? static_cast<double>(page().conversation->length()) : 0;
}

/// Starts a new conversation with these options at the next message.
EMSCRIPTEN_KEEPALIVE void chat_reset() { page().conversation.reset(); }

/// Uses these options from the next message on. Sampling starts with the first draw of the seed.
EMSCRIPTEN_KEEPALIVE bool chat_change(double temperature, double top_k, double top_p, double seed,
                                      double most) {
  return attempt([&] {
    use(temperature, top_k, top_p, seed, most);
    if (page().conversation) page().conversation->change(page().settings);
    return true;
  });
}

/// Sends a message of `count` bytes. Returns true if chat_step() will write an answer.
EMSCRIPTEN_KEEPALIVE bool chat_say(double count) {
  return attempt([&] {
    Page& here = page();
    here.stop = false;
    if (!here.conversation)
      here.conversation = std::make_unique<Conversation>(
          *here.model, here.settings, [](std::string_view text) { tell("text", text); },
          [](std::string_view text) { tell("note", text); }, [] { return page().stop; });
    return here.conversation->begin(taken(count));
  });
}

/// Writes the next token of the answer. Returns true if more tokens follow.
EMSCRIPTEN_KEEPALIVE bool chat_step() {
  return attempt([] { return page().conversation->write_token(); });
}

/// Ends the answer at its next token.
EMSCRIPTEN_KEEPALIVE void chat_stop() { page().stop = true; }

}  // extern "C"

}  // namespace tapestry::lesson38
