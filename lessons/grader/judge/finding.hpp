// A judge's finding about an answer, which the judged program sends to the grader.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tapestry::grader {

/// The first claim that does not hold, on the smallest example that shows it.
struct Fault {
  enum class Kind { not_written, value, shape, sentence, exception };

  Kind kind = Kind::value;
  int claim = 0;                  // number of the claim, from 0
  std::string title;              // sentence of the claim
  std::string example;            // sizes or input
  std::string what;               // a sentence, or the name of the compared values
  std::string expected, got;      // compared values as text, perhaps of several lines
  std::vector<double> behaviour;  // numbers that the answer returned; a known mistake is recognised by them

  /// Returns true if two answers fail alike: at the same place, with the same numbers up to a relative 1e-6.
  bool like(const Fault& other) const;
};

/// Result of one run of a judge.
struct Finding {
  std::uint64_t seed = 0;
  std::vector<std::string> right;  // claims that hold, in order
  std::optional<Fault> fault;
  std::optional<double> score;  // for exercises with a best score: less is better
  std::string unit;             // of the score
  std::set<std::string>
      tried;  // kinds of sizes in each_size(): "empty", "single", "several", "larger", "f32", "often"
};

/// Returns the finding as JSON.
std::string to_json(const Finding& finding);
/// Parses a finding. Throws std::exception if the text is incomplete or invalid, as after a crash during writing.
Finding finding_from_json(const std::string& text);

}  // namespace tapestry::grader
