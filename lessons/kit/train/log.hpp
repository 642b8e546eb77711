// CSV log of a training run, which continues after a resume as if the run had not been interrupted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/simd/view.hpp"

namespace tapestry::kit {

/// CSV file whose first column is the step. Write the row of a step before its checkpoint. Then a killed and resumed
/// run has the same log as an uninterrupted one, except for columns that hold times.
class RunLog {
 public:
  /// Starts a new log. With `resume_at`, keeps the rows up to that step and drops the later ones, including an
  /// incomplete last line. Throws UsageError if the file cannot be written or has other columns.
  RunLog(std::filesystem::path path, std::vector<std::string> columns,
         std::optional<Size> resume_at = std::nullopt);

  /// Appends a row and passes it to the system. Numbers have the shortest form that reads back as the same bits. Throws
  /// std::invalid_argument unless there are as many values as columns.
  void row(Size step, const std::vector<double>& values);

 private:
  std::filesystem::path path_;
  std::size_t columns_;
};

}  // namespace tapestry::kit
