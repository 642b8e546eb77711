// Generates dates in ten forms, each with the same date in the form 2026-11-21.
#include "lessons/14_dates/dates.hpp"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace tapestry::kit {
namespace {

constexpr const char* kMonths[] = {"january", "february", "march",     "april",   "may",      "june",
                                   "july",    "august",   "september", "october", "november", "december"};
constexpr const char* kWeekdays[] = {"sunday",   "monday", "tuesday", "wednesday",
                                     "thursday", "friday", "saturday"};
constexpr std::string_view kStray = "abcdefghijklmnopqrstuvwxyz #*:;!?&";
constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz_#*:;!?&,./'0123456789";
constexpr std::string_view kWritten = "0123456789-";

Vocabulary vocabulary_of(std::string_view characters) {
  Words words;
  for (const char c : characters) words.push_back(std::string(1, c));
  return Vocabulary::of(words);
}

const char* ordinal(unsigned day) {
  if (day >= 11 && day <= 13) return "th";
  return day % 10 == 1 ? "st" : day % 10 == 2 ? "nd" : day % 10 == 3 ? "rd" : "th";
}

// Ten ways to write a date. Each capital is a placeholder: D for the day (E with two digits), O for its ordinal
// ending, M for the month, A for the month's first three letters, K for the month's number (N with two digits),
// Y for the year, S for the year's last two digits, W for the weekday, V for the weekday's first three letters.
constexpr const char* kForms[] = {"DO of M Y", "D A Y", "M D, Y", "A DO Y",         "W, M D, Y",
                                  "V D M Y",   "D/K/S", "E.N.Y",  "the DO of M 'S", "Y, D A"};
constexpr Size kFormCount = std::size(kForms), kDays = 36'525;

}  // namespace

void DateText::add(std::string_view text, DatePart part) {
  for (const char c : text) {
    source.push_back(std::string(1, c == ' ' ? '_' : c));
    parts.push_back(part);
  }
}

Vocabulary date_characters() { return vocabulary_of(kCharacters); }
Vocabulary date_digits() { return vocabulary_of(kWritten); }

DateText write_date(Size day, Size form, Size stray, Random& random) {
  const std::chrono::sys_days point{std::chrono::days{day}};
  const std::chrono::year_month_day date{point};
  const int y = static_cast<int>(date.year());
  const auto m = static_cast<unsigned>(date.month()), d = static_cast<unsigned>(date.day());
  const std::string month = kMonths[m - 1], weekday = kWeekdays[std::chrono::weekday{point}.c_encoding()];

  DateText example;
  for (Size i = 0; i < stray; ++i) {
    const auto which = static_cast<std::size_t>(random.below(static_cast<Size>(kStray.size())));
    example.add(kStray.substr(which, 1), DatePart::stray);
  }
  const auto number = [](auto n) { return fmt::format("{}", n); };
  const auto two = [](auto n) { return fmt::format("{:02}", n); };
  using Piece = std::pair<std::string, DatePart>;
  const std::map<char, Piece> pieces = {{'D', {number(d), DatePart::day}},
                                        {'E', {two(d), DatePart::day}},
                                        {'O', {ordinal(d), DatePart::day}},
                                        {'M', {month, DatePart::month}},
                                        {'A', {month.substr(0, 3), DatePart::month}},
                                        {'K', {number(m), DatePart::month}},
                                        {'N', {two(m), DatePart::month}},
                                        {'Y', {number(y), DatePart::year}},
                                        {'S', {two(y % 100), DatePart::year}},
                                        {'W', {weekday, DatePart::separator}},
                                        {'V', {weekday.substr(0, 3), DatePart::separator}}};
  for (const char c : std::string_view(kForms[form])) {
    const auto found = pieces.find(c);
    const Piece piece = found == pieces.end() ? Piece{std::string(1, c), DatePart::separator} : found->second;
    example.add(piece.first, piece.second);
  }
  for (const char c : fmt::format("{}-{:02}-{:02}", y, m, d)) example.target.push_back(std::string(1, c));
  return example;
}

bool is_unseen(Size day, std::uint64_t seed) {
  return day == kExampleDay || Random(seed, 3'000'000 + static_cast<std::uint64_t>(day)).chance(0.1);
}

std::vector<DateText> draw_dates(Random random, Size count, bool unseen, std::uint64_t seed) {
  std::vector<DateText> texts;
  while (static_cast<Size>(texts.size()) < count) {
    const Size day = random.below(kDays);
    if (is_unseen(day, seed) != unseen) continue;
    const Size form = random.below(kFormCount), stray = random.between(0, 20);
    texts.push_back(write_date(day, form, stray, random));
  }
  return texts;
}

}  // namespace tapestry::kit
