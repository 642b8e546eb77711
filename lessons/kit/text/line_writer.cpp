// Writer of lines to standard output, or to a file that appears only when it is complete.
#include "lessons/kit/text/line_writer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "lessons/kit/program/usage_error.hpp"

namespace tapestry::kit {

namespace fs = std::filesystem;

LineWriter::LineWriter(const fs::path& path) {
  if (path.empty()) return;
  std::error_code error;
  path_ = fs::weakly_canonical(path, error);  // resolve a link, so that its target is replaced
  if (error) path_ = path;
  if (fs::is_directory(path_, error))
    throw UsageError(fmt::format("cannot write '{}': it is a folder", path.string()));
  fs::path written = path_;
  if (!fs::exists(path_, error) || fs::is_regular_file(path_, error))
    written = part_ = path_.string() + ".part";
  file_ = std::fopen(written.c_str(), "wbe");
  if (file_ == nullptr)
    throw UsageError(fmt::format("cannot write '{}': {}", written.string(), std::strerror(errno)));
}

LineWriter::~LineWriter() {
  if (file_ != stdout && file_ != nullptr) std::fclose(file_);
}

void LineWriter::fail_to_write() const {
  const std::string why = std::strerror(errno);
  std::error_code ignored;
  if (!part_.empty()) fs::remove(part_, ignored);  // frees space, in case the disk is full
  throw UsageError(path_.empty() ? fmt::format("cannot write to standard output: {}", why)
                                 : fmt::format("cannot write '{}': {}", path_.string(), why));
}

void LineWriter::line(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fputc('\n', file_) == EOF)
    fail_to_write();
}

void LineWriter::flush() {
  if (std::fflush(file_) != 0) fail_to_write();
}

void LineWriter::finish() {
  flush();
  if (file_ == stdout) return;
  if (!part_.empty() && ::fsync(::fileno(file_)) != 0) fail_to_write();
  const bool closed = std::fclose(file_) == 0;
  file_ = nullptr;
  if (!closed) fail_to_write();
  if (part_.empty() || std::rename(part_.c_str(), path_.c_str()) == 0) return;
  part_.clear();  // the file is complete, so fail_to_write() must not remove it
  fail_to_write();
}

}  // namespace tapestry::kit
