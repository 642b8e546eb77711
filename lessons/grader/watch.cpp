#include "lessons/grader/watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <tuple>

#include "lessons/grader/interrupt.hpp"
#include "lessons/kit/program/wrap.hpp"

namespace tapestry::grader {

namespace {

/// Guard that makes the terminal deliver single keys without Enter, and restores it.
class RawKeys {
 public:
  RawKeys() : on_(tcgetattr(0, &before_) == 0) {
    if (!on_) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // signals stay on, so that Ctrl-C works
    tcsetattr(0, TCSANOW, &raw);
  }
  ~RawKeys() {
    if (on_) tcsetattr(0, TCSANOW, &before_);
  }
  RawKeys(const RawKeys&) = delete;
  RawKeys& operator=(const RawKeys&) = delete;

 private:
  termios before_{};
  bool on_;
};

/// Inode, size and time of a file; they change when it is saved, in place or by a new file under its name.
using Saved = std::tuple<ino_t, off_t, time_t, long>;

Saved saved(const std::filesystem::path& file) {
  struct stat at = {};
  if (stat(file.c_str(), &at) != 0) return {};
#ifdef __APPLE__
  const timespec& time = at.st_mtimespec;
#else
  const timespec& time = at.st_mtim;
#endif
  return {at.st_ino, at.st_size, time.tv_sec, time.tv_nsec};
}

constexpr char kNothing = 0, kEnd = 4;

/// Returns the next key, kNothing if none is pressed within the time, or kEnd at the end of input.
char key_within(int milliseconds) {
  pollfd input{0, POLLIN, 0};
  const int ready = poll(&input, 1, milliseconds);
  if (ready <= 0) return kNothing;
  char key = kEnd;
  const ssize_t count = read(0, &key, 1);
  return count == 1 ? key : kEnd;
}

/// The text on the terminal, drawn again when the terminal's width changes.
class Screen {
 public:
  void show(const std::string& text) {
    text_ += text + "\n";
    write(text + "\n");
  }
  void show_anew(const std::string& text) {
    if (kit::Terminal::of(1).interactive) std::fputs("\x1b[2J\x1b[3J\x1b[H", stdout);
    text_.clear();
    show(text);
  }
  void follow_width() {
    if (text_.empty() || kit::Terminal::of(1).columns == columns_) return;
    std::string text = std::move(text_);
    text.pop_back();
    show_anew(text);
  }

 private:
  void write(const std::string& text) {
    columns_ = kit::Terminal::of(1).columns;
    kit::Wrap wrap;
    const std::string rows = wrap(text, columns_);
    std::fwrite(rows.data(), 1, rows.size(), stdout);
    std::fflush(stdout);
  }

  std::string text_;
  int columns_ = 0;
};

std::string keys(bool solved) {
  return fmt::format(
      "{}n next · h hint · s solution · c compiler or crash output · l list · r reset · q quit",
      solved ? "" : "Waiting for a save.   ");
}

}  // namespace

void watch(Session& session, const Exercise& first) {
  watch_for_interrupts();
  const RawKeys raw;
  const Exercise* exercise = &first;
  Screen screen;
  std::string asked;  // key that waits for a second press as confirmation
  Verdict last;
  Saved seen;

  // `opening` has the task and its changes since the learner's file was made.
  const auto judge = [&](const std::string& opening) {
    const kit::Terminal terminal = kit::Terminal::of(1);
    seen = saved(session.file_of(*exercise));  // before reading: a save in the meantime is judged again
    screen.show("judging …");
    Session::Checked checked;
    try {
      checked = session.check(*exercise, terminal);
    } catch (const std::exception& error) {  // such as a full disk; the next save tries again
      last = {};
      return screen.show_anew(fmt::format("{}\n\n{}", error.what(), keys(false)));
    }
    if (checked.verdict.kind == Verdict::Kind::interrupted) return;
    last = checked.verdict;
    screen.show_anew(opening + "\n" + checked.text + fmt::format("\n({:.1f} s)  ", last.seconds) +
                     keys(last.passed()));
  };

  const auto begin = [&] { judge(session.begin(*exercise, kit::Terminal::of(1))); };
  begin();
  bool prepared = false;
  while (!interrupted()) {
    const char key = key_within(prepared ? 100 : 0);
    if (key == kNothing) {
      const Saved now = saved(session.file_of(*exercise));
      if (now != seen && now != Saved{}) {
        key_within(30);  // let the editor finish
        begin();
        prepared = false;
      } else if (!prepared) {
        prepared = !session.grader().prepare(*exercise);
      }
      screen.follow_width();
      continue;
    }
    const bool again = !asked.empty() && asked[0] == key;
    asked.clear();
    switch (key) {
      case 'n':
        if (const Exercise* next = session.after(*exercise)) {
          exercise = next;
          begin();
          prepared = false;
        } else {
          screen.show("Every exercise is solved.");
        }
        break;
      case 'h':
        screen.show(session.hint(*exercise));
        break;
      case 's':
        if (last.passed() || again) {
          screen.show(session.solution(*exercise));
        } else {
          screen.show("Press s again to see the whole solution, or h for a hint.");
          asked = "s";
        }
        break;
      case 'c':
        screen.show(last.details.empty() ? "Nothing was printed." : for_terminal(last.details, 400));
        break;
      case 'l':
        screen.show(session.list(kit::Terminal::of(1)));
        break;
      case 'r':
        if (again) {
          screen.show(session.reset(*exercise));
          begin();
        } else {
          screen.show("Press r again to restart this exercise; your file is kept under another name.");
          asked = "r";
        }
        break;
      case 'q':
      case kEnd:
        return;
      default:
        screen.show(keys(false));
        break;
    }
  }
}

}  // namespace tapestry::grader
