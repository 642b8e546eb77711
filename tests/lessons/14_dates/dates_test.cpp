// The dates of lesson 14.
#include "lessons/14_dates/dates.hpp"

#include <set>
#include <string>
#include <tuple>

#include "tests/catch.hpp"

namespace tapestry::kit {
namespace {

std::string joined(const Words& characters) {
  std::string text;
  for (const std::string& character : characters) text += character;
  return text;
}

}  // namespace

TEST_CASE("one day in every form", "[kit]") {
  Random random(1);
  const char* forms[] = {
      "21st_of_november_2026",       "21_nov_2026",          "november_21,_2026", "nov_21st_2026",
      "saturday,_november_21,_2026", "sat_21_november_2026", "21/11/26",          "21.11.2026",
      "the_21st_of_november_'26",    "2026,_21_nov"};
  for (Size form = 0; form < 10; ++form) {
    const DateText text = write_date(kExampleDay, form, 0, random);
    CHECK(joined(text.source) == forms[form]);
    CHECK(joined(text.target) == "2026-11-21");
    CHECK(text.parts.size() == text.source.size());
  }
  CHECK(joined(write_date(0, 6, 0, random).source) == "1/1/70");
  CHECK(joined(write_date(36'524, 7, 0, random).source) == "31.12.2069");
}

TEST_CASE("every day of a month has its ending", "[kit]") {
  Random random(1);
  const char* endings[] = {"1st",  "2nd",  "3rd",  "4th",  "5th",  "6th",  "7th",  "8th",
                           "9th",  "10th", "11th", "12th", "13th", "14th", "15th", "16th",
                           "17th", "18th", "19th", "20th", "21st", "22nd", "23rd", "24th",
                           "25th", "26th", "27th", "28th", "29th", "30th", "31st"};
  for (Size day = 0; day < 31; ++day)  // of January 1970
    for (const auto& [form, before, after] :
         {std::tuple<Size, const char*, const char*>{0, "", "_of_january_1970"},
          {3, "jan_", "_1970"},
          {8, "the_", "_of_january_'70"}})
      CHECK(joined(write_date(day, form, 0, random).source) == before + std::string(endings[day]) + after);
}

TEST_CASE("what is before a date is no part of it, and says so", "[kit]") {
  Random random(3);
  const DateText text = write_date(kExampleDay, 6, 12, random);
  REQUIRE(text.source.size() == 20);
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(text.parts[i] == DatePart::stray);
    CHECK(std::string("0123456789").find(text.source[i]) == std::string::npos);
  }
  CHECK(text.parts[12] == DatePart::day);
  CHECK(text.parts[14] == DatePart::separator);
  CHECK(text.parts[15] == DatePart::month);
  CHECK(text.parts[19] == DatePart::year);
}

TEST_CASE("unseen days are one in ten, and never drawn for training", "[kit]") {
  int unseen = 0;
  for (Size day = 0; day < 10'000; ++day) unseen += is_unseen(day, 5);
  CHECK((unseen > 900 && unseen < 1100));
  CHECK(is_unseen(kExampleDay, 5));
  std::set<std::string> train, test;
  for (const DateText& text : draw_dates(Random(5, 1), 2000, false, 5)) train.insert(joined(text.target));
  for (const DateText& text : draw_dates(Random(5, 2), 2000, true, 5)) test.insert(joined(text.target));
  for (const std::string& date : test) CHECK(train.count(date) == 0);
  for (const DateText& text : draw_dates(Random(5, 1), 200, false, 5)) {
    for (const std::string& character : text.source) REQUIRE(date_characters().contains(character));
    for (const std::string& character : text.target) REQUIRE(date_digits().contains(character));
  }
}

}  // namespace tapestry::kit
