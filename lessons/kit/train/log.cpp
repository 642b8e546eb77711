// CSV log of a training run, which continues after a resume as if the run had not been interrupted.
#include "lessons/kit/train/log.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "lessons/kit/program/files.hpp"
#include "lessons/kit/program/usage_error.hpp"
#include "nn/text/lines.hpp"

namespace tapestry::kit {
namespace {

/// Returns the step in the first field of a row, or nothing if the line does not start with one.
std::optional<Size> step_of(std::string_view row) {
  Size step = 0;
  const auto [end, error] = std::from_chars(row.data(), row.data() + row.size(), step);
  const bool whole_field = end == row.data() + row.size() || *end == ',';
  return error == std::errc() && whole_field ? std::optional<Size>(step) : std::nullopt;
}

}  // namespace

RunLog::RunLog(std::filesystem::path path, std::vector<std::string> columns, std::optional<Size> resume_at)
    : path_(std::move(path)), columns_(columns.size()) {
  columns.insert(columns.begin(), "step");
  const std::string header = fmt::format("{}\n", fmt::join(columns, ","));
  std::string kept = header;
  if (resume_at && std::filesystem::exists(path_)) {
    const std::string old = read_text(path_);
    std::string_view rest = old;
    if (rest.substr(0, header.size()) != header) {
      throw UsageError(fmt::format("{}:1: expected the columns '{}'; move the file away to start a new log",
                                   path_.string(), header.substr(0, header.size() - 1)));
    }
    rest.remove_prefix(header.size());
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      const std::optional<Size> step = step_of(rest.substr(0, end));
      if (!step || *step > *resume_at) break;
      kept += rest.substr(0, end + 1);
      rest.remove_prefix(end + 1);
    }
  }
  write_atomically(path_, kept);
}

void RunLog::row(Size step, const std::vector<double>& values) {
  if (values.size() != columns_) {
    throw std::invalid_argument(fmt::format("a row of the log '{}' must have {} values, got {}",
                                            path_.string(), columns_, values.size()));
  }
  std::string line = std::to_string(step);
  for (const double value : values) line += fmt::format(",{}", value);
  append(path_, line + '\n');
}

}  // namespace tapestry::kit
