// A table of a run, row by row, that goes on after a resume as if nothing had happened.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/simd/view.hpp"

namespace tapestry::kit {

/// A CSV file whose first column is the step. Write a step's row before its checkpoint: then the log of a run
/// that was killed and resumed equals the log of an unbroken one, but for columns that hold times.
class RunLog {
 public:
  /// Starts anew; or, with `resume_at`, keeps the rows up to that step and drops what follows, a half-written
  /// last line included. Throws UsageError when the file cannot be written, or holds other columns.
  RunLog(std::filesystem::path path, std::vector<std::string> columns,
         std::optional<Size> resume_at = std::nullopt);

  /// Appends a row and hands it to the system. As many values as columns, else std::invalid_argument; numbers
  /// are written in the shortest form that reads back as the same bits.
  void row(Size step, const std::vector<double>& values);

 private:
  std::filesystem::path path_;
  std::size_t columns_;
};

}  // namespace tapestry::kit
