// The data of lesson 14: dates in many forms, and the same dates in one.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lessons/kit/random.hpp"
#include "lessons/kit/text/vocabulary.hpp"

namespace tapestry::kit {

/// What a character of the source belongs to.
enum class DatePart { stray, between, day, month, year };
inline constexpr const char* kDatePartNames[] = {"stray", "between", "day", "month", "year"};

struct DateText {
  Words source, target;         ///< characters, '_' for a space; the target is 2026-11-21
  std::vector<DatePart> parts;  ///< of each character of the source

  /// To the source.
  void add(std::string_view text, DatePart part);
};

/// The characters of sources and of targets.
Vocabulary date_characters();
Vocabulary date_digits();

/// 2026-11-21, as a number of days since 1970-01-01.
inline constexpr Size kTitleDay = 20'778;

/// Day number `day` since 1970-01-01, in one of ten forms, 0 ("21st of november 2026") to 9, after `stray`
/// stray characters: letters and signs, no digits.
DateText write_date(Size day, Size form, Size stray, Random& random);

/// One day in ten, by its number and the seed; and kTitleDay.
bool is_unseen(Size day, std::uint64_t seed);

/// Dates of the hundred years from 1970, in any form, after 0 to 20 stray characters: of unseen days only, or
/// of all others only.
std::vector<DateText> draw_dates(Random random, Size count, bool unseen, std::uint64_t seed);

}  // namespace tapestry::kit
