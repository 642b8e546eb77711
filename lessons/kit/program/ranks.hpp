// Data-parallel training of a lesson on several ranks, started by mpirun.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "optim/parallel/communicator.hpp"

namespace tapestry::kit {

/// Ranks that train a model together. Each rank runs the whole lesson and gets a share of every batch.
struct Ranks {
  Communicator* wire = nullptr;  ///< communicator of the ranks; null: a single process
  /// Number of parts of a batch (DataParallelOptions::parts); 0: one for each rank.
  std::int64_t parts = 0;

  /// Returns `*wire`, or the communicator of a single rank.
  Communicator& communicator() const;
  bool several() const { return wire != nullptr && wire->size() > 1; }
  /// Returns true on rank 0, which prints, asks and writes the output files.
  bool is_first() const { return wire == nullptr || wire->rank() == 0; }
};

/// Checks that all ranks have the same facts, such as "--seed 2", in the same order. Every rank must call it. If a rank
/// differs, rank 0 throws UsageError with `must`, the first pair of facts that differ, and the rank. The other ranks
/// wait for rank 0, so that they notice the end of the run.
void expect_same(Communicator& ranks, const std::string& must, const std::vector<std::string>& facts);

/// Scope in which a rank other than 0 prints nothing. It writes its files into a temporary folder, which the destructor
/// removes.
class SilentScope {
 public:
  /// Throws UsageError if the folder cannot be created.
  SilentScope();
  ~SilentScope();
  SilentScope(const SilentScope&) = delete;
  SilentScope& operator=(const SilentScope&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace tapestry::kit
