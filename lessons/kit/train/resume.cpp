#include "lessons/kit/train/resume.hpp"

#include <fmt/format.h>

#include <span>
#include <type_traits>

#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/train/saved_size.hpp"
#include "optim/parallel/collectives.hpp"

namespace tapestry::kit {

namespace {

constexpr std::chrono::seconds kBetween{45};  // a long step can delay a save to about a minute

/// Splits a run's description at the commas: "text 4016c93c3be74c18, seed 1, 30 steps" has three parts.
std::vector<std::string> parts_of(std::string_view run) {
  std::vector<std::string> parts(1);
  for (const char c : run) {
    if (c != ' ' || !parts.back().empty()) parts.back() += c;
    if (c != ',') continue;
    parts.back().pop_back();
    parts.emplace_back();
  }
  return parts;
}

}  // namespace

std::string name_of_text(std::uint64_t hash) { return fmt::format("text {:016x}", hash); }

Checkpoints::Checkpoints(std::filesystem::path file, std::string run, Module& model, Optimiser& optimiser)
    : file_(std::move(file)),
      lock_(file_.has_parent_path() ? file_.parent_path() : "."),
      run_(std::move(run)),
      model_(model),
      optimiser_(optimiser) {}

TrainingState load_checkpoint(const std::filesystem::path& file) {
  try {
    return TrainingState::load(file);
  } catch (const Error& error) {
    throw UsageError(fmt::format("{}; delete the file to start again", error.what()));
  }
}

std::map<std::string, State> Checkpoints::sections() const {
  std::map<std::string, State> all = more;
  all["model"] = model_.state();
  all["optimiser"] = optimiser_.state();
  return all;
}

bool Checkpoints::resume(RunPlace& place) {
  Communicator& all = ranks.communicator();
  expect_same(all, "all ranks must train on the same text with the same options", parts_of(run_));
  const bool found = broadcast(all, ranks.is_first() && read(place) ? 1 : 0) == 1;
  static_assert(std::is_trivially_copyable_v<RunPlace>);
  broadcast(all, std::as_writable_bytes(std::span(&place, 1)));
  if (ranks.several())
    for (const auto& [name, state] : sections()) broadcast(all, state);
  // A completed run does not save again, but each rank reads the trained weights from its own folder.
  if (found && !ranks.is_first()) save(place, true);
  return found;
}

bool Checkpoints::read(RunPlace& place) {
  if (!std::filesystem::exists(file_)) return false;
  const TrainingState saved = load_checkpoint(file_);
  if (saved.text("run") != run_)
    throw UsageError(fmt::format(
        "{} is the checkpoint of another run ({}), not of this one ({}); choose another --out or delete it",
        file_.string(), saved.text("run"), run_));
  try {
    saved.restore(sections());
  } catch (const Error& error) {
    throw UsageError(fmt::format("{}; delete the file to start again", error.what()));
  }
  constexpr Size kMostSteps = 1'000'000'000'000;
  place.step = saved_size(saved, "step", 0, kMostSteps);
  place.data = {saved_size(saved, "epoch", 0, kMostSteps), saved_size(saved, "index", 0, kMostSteps)};
  place.seconds = saved.number("seconds");
  place.words = saved.number("words");
  return true;
}

void Checkpoints::forget() const {
  if (std::filesystem::exists(file_)) std::filesystem::remove(std::filesystem::canonical(file_));
}

void Checkpoints::save(const RunPlace& place, bool always) {
  const auto now = std::chrono::steady_clock::now();
  if (!always && (now - last_ < kBetween || !ranks.is_first())) return;
  last_ = now;
  TrainingState state;
  state.sections = sections();
  state.set_text("run", run_);
  for (const auto& [name, text] : texts) state.set_text(name, text);
  state.set_integer("step", static_cast<std::uint64_t>(place.step));
  state.set_integer("epoch", static_cast<std::uint64_t>(place.data.epoch));
  state.set_integer("index", static_cast<std::uint64_t>(place.data.index));
  state.set_number("seconds", place.seconds);
  state.set_number("words", place.words);
  state.save(file_);
}

}  // namespace tapestry::kit
