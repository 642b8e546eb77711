#include "lessons/38_chat/chat_loop.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "lessons/38_chat/modes.hpp"
#include "lessons/kit/program/terminal.hpp"
#include "lessons/kit/text/line_reader.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::lesson38 {
namespace {

volatile std::sig_atomic_t interrupted = 0;

/// Scope in which Ctrl-C sets `interrupted` and does not end the program.
class CatchInterrupt {
 public:
  CatchInterrupt() {
    interrupted = 0;
    before_ = std::signal(SIGINT, [](int) { interrupted = 1; });
  }
  ~CatchInterrupt() { std::signal(SIGINT, before_); }
  CatchInterrupt(const CatchInterrupt&) = delete;
  CatchInterrupt& operator=(const CatchInterrupt&) = delete;

 private:
  void (*before_)(int);
};

std::string trimmed(const std::string& line) {
  constexpr const char* kSpace = " \t\r";
  const std::size_t from = line.find_first_not_of(kSpace);
  return from == line.npos ? "" : line.substr(from, line.find_last_not_of(kSpace) - from + 1);
}

/// A slash and letters alone are a command; "/tmp is full" is a message.
bool is_command(const std::string& line) {
  return line.size() > 1 && line[0] == '/' &&
         std::all_of(line.begin() + 1, line.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

/// Writes "> " past the word wrap, which would keep the blank until a word follows.
void show_prompt() {
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, "> ", 2);  // a lost prompt does no harm
}

}  // namespace

Conversation::Conversation(const ChatModel& model, const ChatSettings& settings, Print print, Print note,
                           Stop stop)
    : settings_(settings),
      print_(std::move(print)),
      note_(std::move(note)),
      stop_(std::move(stop)),
      session_(model),
      format_(chat_template_of(model.file)),
      sampler_(settings.sampling) {
  reset();
}

void Conversation::reset() {
  session_.reset();
  unread_.clear();
  messages_.clear();
  if (settings_.has_system) messages_.push_back({"system", settings_.system});
}

/// Appends the message to messages_ and returns the ids that the model must read for it. Returns nothing, and leaves
/// the conversation as it is, if the message does not fit.
std::optional<Ids> Conversation::next_ids(const std::string& message) {
  const ByteLevelBpe& tokenizer = session_.model().tokenizer;
  const Size context = session_.model().context, for_answer = std::min<Size>(settings_.most, context / 4);
  const auto fits = [&](Size before, const Ids& ids) {
    return before + static_cast<Size>(ids.size()) + for_answer <= context;
  };
  if (session_.length() > 0) {
    Ids ids = unread_;
    const Ids more = chat_ids(tokenizer, format_.render_next(message));
    ids.insert(ids.end(), more.begin(), more.end());
    messages_.push_back({"user", message});
    if (fits(session_.length(), ids)) return ids;
    messages_.pop_back();
  }
  // The whole conversation again, without its oldest turns.
  std::vector<ChatMessage> kept = messages_;
  kept.push_back({"user", message});
  const std::ptrdiff_t first = settings_.has_system ? 1 : 0;
  Size dropped = 0;
  Ids ids = chat_ids(tokenizer, format_.render(kept));
  for (; !fits(0, ids) && static_cast<std::ptrdiff_t>(kept.size()) - first > 2; ++dropped) {
    kept.erase(kept.begin() + first, kept.begin() + first + 2);  // a message and its answer
    ids = chat_ids(tokenizer, format_.render(kept));
  }
  if (!fits(0, ids)) {
    note_(fmt::format(
        "The message was not sent: with its system message it has {} tokens, and at most {} of the context's {} are "
        "for messages. Send a shorter one.",
        ids.size(), context - for_answer, context));
    return std::nullopt;
  }
  if (dropped > 0)
    note_(fmt::format(
        "The conversation is longer than the context of {} tokens, so the model forgets {}. /reset starts a new one.",
        context,
        dropped == 1 ? "the oldest message and its answer"
                     : fmt::format("the {} oldest messages and their answers", dropped)));
  session_.reset();
  messages_ = std::move(kept);
  return ids;
}

void Conversation::say(const std::string& message) {
  for (bool more = begin(message); more;) more = write_token();
}

bool Conversation::begin(const std::string& message) {
  const std::optional<Ids> ids = next_ids(message);
  if (!ids) return false;
  writer_.emplace(session_, *ids, format_, sampler_, settings_.most);
  characters_ = {};
  return true;
}

bool Conversation::write_token() {
  const ByteLevelBpe& tokenizer = session_.model().tokenizer;
  bool stopped = false;
  const bool more = writer_->next([&](std::int64_t id) {
    print_(safe_text(characters_.push(tokenizer.bytes(id))));
    return !(stopped = stop_());
  });
  if (more) return true;
  const Answer& answer = writer_->answer();
  print_(safe_text(characters_.finish()) + "\n");
  if (stopped) note_("stopped");
  if (answer.full)
    note_(fmt::format("The context of {} tokens is full, so the answer is cut.", session_.model().context));
  else if (!answer.ended && !stopped)
    note_(fmt::format("The answer is cut after {} tokens; --max allows more.", settings_.most));
  Ids written = answer.ids;
  unread_.clear();
  if (answer.ended)
    written.pop_back();
  else
    unread_ = {answer.ids.back()};
  if (const auto end = tokenizer.id(format_.end())) unread_.push_back(*end);
  messages_.push_back({"assistant", tokenizer.decode(written)});
  return false;
}

void Conversation::change(const ChatSettings& settings) {
  settings_.most = settings.most;
  settings_.sampling = settings.sampling;
  sampler_ = Sampler(settings.sampling);
}

bool Conversation::handle(const std::string& line) {
  const std::string text = trimmed(line);
  if (text == "/quit") return false;
  if (text == "/reset") {
    reset();
    note_("The conversation starts anew.");
  } else if (is_command(text)) {
    note_(fmt::format("{} is not a command; the commands are /reset and /quit.", kit::printable(text)));
  } else if (!text.empty()) {
    say(line);
  }
  return true;
}

void chat_on_terminal(const ChatSettings& settings) {
  const ChatModel model =
      read_chat_model(settings.model_file(), settings.arithmetic_of(settings.greedy), settings.context);
  const bool interactive = kit::Terminal::of(1).interactive && ::isatty(0) == 1;
  const auto print = [](std::string_view text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  };
  const auto note = [&](std::string_view text) { print(fmt::format("({})\n", text)); };
  Conversation conversation(model, settings, print, note, [] { return interrupted != 0; });
  if (interactive)
    print(
        "Each line is a message. /reset starts a new conversation, /quit ends the program, Ctrl-C stops an "
        "answer.\n");
  kit::LineReader input("-");
  for (;;) {
    if (interactive) show_prompt();
    std::optional<std::string> line;
    try {
      line = input.next();
    } catch (const kit::UsageError& error) {  // such as a pasted byte that is not UTF-8
      if (!interactive) throw;
      note(kit::printable(error.what()));
      continue;
    }
    if (!line) break;
    const CatchInterrupt scope;
    if (!conversation.handle(*line)) return;
  }
  if (interactive) print("\n");
}

}  // namespace tapestry::lesson38
