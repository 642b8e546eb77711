// A lesson that mpirun started several times, to train one model together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "optim/parallel/communicator.hpp"

namespace tapestry::kit {

/// Who trains a model together. All ranks run the whole lesson; each gets a share of every batch.
struct Ranks {
  Communicator* wire = nullptr;  ///< between them; none: this process is alone
  /// Into how many parts a batch is cut, DataParallelOptions::parts; 0: one for each rank.
  std::int64_t parts = 0;

  /// The wire, or that of one rank alone.
  Communicator& communicator() const;
  bool several() const { return wire != nullptr && wire->size() > 1; }
  /// Prints, asks, and keeps what is made.
  bool is_first() const { return wire == nullptr || wire->rank() == 0; }
};

/// Makes sure that all ranks give the same facts, such as "--seed 2", in the same order; every rank calls it. If one
/// differs, rank 0 throws UsageError with `must`, the first pair of facts that differ, and the rank. The other ranks
/// wait for rank 0, so they hear that the run is over.
void expect_same(Communicator& ranks, const std::string& must, const std::vector<std::string>& facts);

/// Where a rank that is not the first works, silently: what it prints is dropped, and what it makes lies in a folder
/// of its own, which is removed at the end.
class BackRoom {
 public:
  /// Throws UsageError if there can be no such folder.
  BackRoom();
  ~BackRoom();
  BackRoom(const BackRoom&) = delete;
  BackRoom& operator=(const BackRoom&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace tapestry::kit
