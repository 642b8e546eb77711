// Progress display of a training loop: a bar on a terminal, a few plain lines elsewhere.
#include "lessons/kit/program/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <utility>

#include "lessons/kit/program/wasm_bridge.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kForget = 0.95;
constexpr int kLeastBar = 8;
constexpr int kMostBar = 30;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string thousands(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (value < 0 ? 1 : 0);
       at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string repeat(std::string_view piece, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += piece;
  return out;
}

}  // namespace

std::string short_time(double seconds) {
  if (!(seconds >= 0) || seconds > 1e8) return "?";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

std::string short_number(double value) {
  if (std::isfinite(value) && std::abs(value) >= 100 && std::abs(value) < 1e15) {
    return thousands(std::llround(value));
  }
  return fmt::format("{:.3g}", value);
}

Progress::Progress(std::int64_t total, Settings settings)
    : Progress(total, std::move(settings), std::cerr, Terminal::of(2), steady_seconds) {}

Progress::Progress(std::int64_t total, Settings settings, std::ostream& out, Terminal terminal, Clock clock)
    : total_(std::max<std::int64_t>(total, 1)),
      done_(std::clamp<std::int64_t>(settings.done, 0, total_)),
      first_(done_),
      unit_(std::move(settings.unit)),
      out_(out),
      terminal_(terminal),
      clock_(std::move(clock)),
      start_(clock_()),
      drawn_at_(start_ - 1) {}

Progress::~Progress() {
  try {
    finish();
  } catch (...) {  // an exception from the stream must not leave a destructor
  }
}

double Progress::speed() const {
  const double seconds = clock_() - start_;
  return seconds > 0 ? count_ / seconds : 0;
}

double Progress::loss() const { return loss_weight_ > 0 ? loss_sum_ / loss_weight_ : std::nan(""); }

void Progress::step(double loss, double count) {
  const std::int64_t tenth_before = 10 * done_ / total_;
  ++done_;
  count_ += count;
  loss_sum_ = kForget * loss_sum_ + (1 - kForget) * loss;
  loss_weight_ = kForget * loss_weight_ + (1 - kForget);
  if (kOnPage && (clock_() - drawn_at_ >= kRedrawSeconds || done_ == total_)) {
    drawn_at_ = clock_();
    tell_progress(static_cast<double>(done_), static_cast<double>(total_), this->loss(), speed(), unit_);
  }
  if (terminal_.interactive) {
    const double now = clock_();
    if (now - drawn_at_ < kRedrawSeconds) return;
    drawn_at_ = now;
    draw();
  } else if (10 * done_ / total_ != tenth_before || done_ == first_ + 1) {
    draw();
  }
}

std::string Progress::line() const {
  const double seconds = clock_() - start_;
  const auto steps = static_cast<double>(done_ - first_);
  const auto missing = static_cast<double>(std::max<std::int64_t>(total_ - done_, 0));
  std::string text = fmt::format("{}/{} {:3} %  loss {:.4f}", done_, total_,
                                 std::min<std::int64_t>(100 * done_ / total_, 100), this->loss());
  text += fmt::format("  {} {}/s", short_number(speed()), unit_);
  if (missing > 0) return text + fmt::format("  {} left", short_time(missing * seconds / steps));
  return text + fmt::format("  {}", short_time(seconds));
}

void Progress::draw() {
  if (!terminal_.interactive) {
    std::fflush(stdout);
    out_ << "  " << line() << '\n' << std::flush;
    return;
  }
  const std::string text = cut_to(line(), terminal_.columns - 3);
  const int room = std::min(terminal_.columns - display_width(text) - 5, kMostBar);
  std::string bar;
  if (room >= kLeastBar) {
    const double share = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    const int full = static_cast<int>(share * room);
    bar = paint(terminal_, series_colour(0), repeat("━", full)) +
          paint(terminal_, 239, repeat("─", room - full));
    bar += "  ";
  }
  std::fflush(stdout);
  out_ << "\r\x1b[K  " << bar << text << std::flush;
  bar_on_screen_ = true;
}

void Progress::erase() {
  if (bar_on_screen_) out_ << "\r\x1b[K";
  bar_on_screen_ = false;
}

void Progress::note(std::string_view text) {
  erase();
  std::fflush(stdout);
  out_ << "  " << text << '\n' << std::flush;
  if (terminal_.interactive && !finished_ && done_ > first_) draw();
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  if (!terminal_.interactive || done_ == first_) return;
  draw();
  out_ << '\n' << std::flush;
  bar_on_screen_ = false;
}

}  // namespace tapestry::kit
