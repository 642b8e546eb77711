// What a judge found out about an answer, as it goes from the judged program to the grader.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tapestry::grader {

/// The first thing that is wrong, on the smallest example that shows it.
struct Fault {
  enum class Kind { not_written, value, shape, sentence, exception };

  Kind kind = Kind::value;
  int claim = 0;                  // which claim broke, counted from 0
  std::string title;              // its sentence
  std::string example;            // the sizes or the input
  std::string what;               // a sentence, or the name of what was compared
  std::string expected, got;      // as text, if values were compared; may have several lines
  std::vector<double> behaviour;  // the numbers that it got: how a known mistake is recognised

  /// Whether two answers fail alike: at the same place, with the same numbers.
  bool like(const Fault& other) const;
};

/// All that one run of a judge says.
struct Finding {
  std::uint64_t seed = 0;
  std::vector<std::string> right;  // the claims that hold, in order
  std::optional<Fault> fault;
  std::optional<double> score;  // of exercises that keep the best: less is better
  std::string unit;             // of the score
  std::set<std::string> tried;  // of each_size(): "empty", "single", "several", "larger", "f32", "often"
};

std::string to_json(const Finding& finding);
/// Throws std::exception where the text is no finding, as after a crash in the middle of writing.
Finding finding_from_json(const std::string& text);

}  // namespace tapestry::grader
