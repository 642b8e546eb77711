// Generates dates in ten forms, each with the same date in the form 2026-11-21.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lessons/kit/random.hpp"
#include "lessons/kit/text/vocabulary.hpp"

namespace tapestry::kit {

/// The part of a date that a character of the source belongs to.
enum class DatePart { stray, separator, day, month, year };
inline constexpr const char* kDatePartNames[] = {"stray", "between", "day", "month", "year"};

struct DateText {
  Words source, target;         ///< characters, with '_' for a space; the target looks like 2026-11-21
  std::vector<DatePart> parts;  ///< one for each character of the source

  /// Appends `text` to the source.
  void add(std::string_view text, DatePart part);
};

/// The vocabularies of the sources' characters and of the targets' characters.
Vocabulary date_characters();
Vocabulary date_digits();

/// 2026-11-21 as a number of days since 1970-01-01.
inline constexpr Size kExampleDay = 20'778;

/// Writes the day with number `day` since 1970-01-01 in form number `form`, from 0 ("21st of november 2026") to
/// 9. `stray` stray characters precede the date: letters and signs, but no digits.
DateText write_date(Size day, Size form, Size stray, Random& random);

/// Returns true for the days that are held out of training: one day in ten, chosen by its number and the seed, and
/// kExampleDay.
bool is_unseen(Size day, std::uint64_t seed);

/// Draws dates of the hundred years from 1970, in any form, after 0 to 20 stray characters. If `unseen`, all of
/// them are unseen days; otherwise none is.
std::vector<DateText> draw_dates(Random random, Size count, bool unseen, std::uint64_t seed);

}  // namespace tapestry::kit
