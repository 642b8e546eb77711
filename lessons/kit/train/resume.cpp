#include "lessons/kit/train/resume.hpp"

#include <fmt/format.h>

#include <span>
#include <type_traits>

#include "lessons/kit/program/usage_error.hpp"
#include "optim/parallel/collectives.hpp"

namespace tapestry::kit {

namespace {

constexpr std::chrono::seconds kBetween{45};  // a step may take its time: still once a minute

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
    throw UsageError(fmt::format("{}; delete it to start anew", error.what()));
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
  const bool found = broadcast(all, ranks.is_first() && read(place) ? 1 : 0) == 1;
  static_assert(std::is_trivially_copyable_v<RunPlace>);
  broadcast(all, std::as_writable_bytes(std::span(&place, 1)));
  if (ranks.several())
    for (const auto& [name, state] : sections()) broadcast(all, state);
  return found;
}

bool Checkpoints::read(RunPlace& place) {
  if (!std::filesystem::exists(file_)) return false;
  const TrainingState saved = load_checkpoint(file_);
  if (saved.text("run") != run_)
    throw UsageError(fmt::format(
        "{} is the checkpoint of another run ({}), not of this one ({}): choose another --out, or delete it",
        file_.string(), saved.text("run"), run_));
  try {
    saved.restore(sections());
  } catch (const Error& error) {
    throw UsageError(fmt::format("{}; delete it to start anew", error.what()));
  }
  place.step = static_cast<Size>(saved.whole("step"));
  place.data = {static_cast<Size>(saved.whole("epoch")), static_cast<Size>(saved.whole("index"))};
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
  state.set_whole("step", static_cast<std::uint64_t>(place.step));
  state.set_whole("epoch", static_cast<std::uint64_t>(place.data.epoch));
  state.set_whole("index", static_cast<std::uint64_t>(place.data.index));
  state.set_number("seconds", place.seconds);
  state.set_number("words", place.words);
  state.save(file_);
}

}  // namespace tapestry::kit
