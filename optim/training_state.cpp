// Saving and loading: a section becomes a prefix of names, and a value becomes a string that restores the same bits.
#include "optim/training_state.hpp"

#include <charconv>
#include <vector>

#include "core/io/restore.hpp"
#include "core/io/text.hpp"
#include "core/tensor/error.hpp"

namespace tapestry {

namespace {

constexpr const char* kFormat = "Tapestry training state";
constexpr std::string_view kValue = "value.";

State joined(const std::map<std::string, State>& sections) {
  State all;
  for (const auto& [section, state] : sections) {
    if (section.empty() || section.find('/') != std::string::npos)
      fail("[TrainingState] a section's name must be nonempty and contain no \"/\", got \"{}\"",
           printable(section, 80));
    for (const auto& [name, x] : state) all.emplace(section + "/" + name, x);
  }
  return all;
}

/// Parses the whole text as a T. Throws Error if it is not `what`.
template <class T>
T parsed(std::string_view text, const std::string& name, const std::string& where, const char* what) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail("{0}: \"{1}\" must be {3}, got \"{2}\"", where, name, printable(text, 40), what);
  return value;
}

}  // namespace

void TrainingState::set_integer(const std::string& name, std::uint64_t value) {
  values_[name] = fmt::format("{}", value);
}
/// Stores the shortest decimal that is read back as the same bits.
void TrainingState::set_number(const std::string& name, double value) {
  values_[name] = fmt::format("{}", value);
}
void TrainingState::set_text(const std::string& name, std::string value) { values_[name] = std::move(value); }
void TrainingState::set_random(const std::string& name, const RandomState& value) {
  values_[name] = fmt::format("{} {} {}", value.seed, value.step, value.site);
}

const std::string& TrainingState::text(const std::string& name) const {
  const auto place = values_.find(name);
  if (place == values_.end()) fail("{}: there is no value called \"{}\"", where_, printable(name, 80));
  return place->second;
}

std::uint64_t TrainingState::integer(const std::string& name) const {
  return parsed<std::uint64_t>(text(name), name, where_, "a whole number from 0 to 2^64 - 1");
}

double TrainingState::number(const std::string& name) const {
  return parsed<double>(text(name), name, where_, "a number");
}

RandomState TrainingState::random(const std::string& name) const {
  const std::string_view all = text(name);
  const std::size_t one = all.find(' '), two = all.rfind(' ');
  const char* what = "three whole numbers";
  if (one == std::string_view::npos || one == two)
    fail("{0}: \"{1}\" must be {3}, got \"{2}\"", where_, name, printable(all, 40), what);
  return {parsed<std::uint64_t>(all.substr(0, one), name, where_, what),
          parsed<std::uint64_t>(all.substr(one + 1, two - one - 1), name, where_, what),
          parsed<std::uint64_t>(all.substr(two + 1), name, where_, what)};
}

void TrainingState::save(const std::filesystem::path& path) const {
  std::map<std::string, std::string> metadata{{"format", kFormat}, {"version", fmt::format("{}", kVersion)}};
  for (const auto& [name, value] : values_) metadata.emplace(std::string(kValue) + name, value);
  write_safetensors(path, joined(sections), metadata);
}

TrainingState TrainingState::load(const std::filesystem::path& path) {
  SafeTensors file = read_safetensors(path);
  TrainingState state;
  state.where_ = fmt::format("'{}'", file.where);
  const auto format = file.metadata.find("format");
  if (format == file.metadata.end() || format->second != kFormat)
    fail(
        "{}: it must be a training state, with metadata \"format\": \"{}\"; this is another safetensors file",
        state.where_, kFormat);
  const std::string version = file.metadata.count("version") ? file.metadata.at("version") : "";
  if (version != fmt::format("{}", kVersion))
    fail("{0}: the training state's version must be {2} for this program, got \"{1}\"", state.where_,
         printable(version, 20), kVersion);
  for (auto& [name, value] : file.metadata)
    if (name.compare(0, kValue.size(), kValue) == 0)
      state.values_.emplace(name.substr(kValue.size()), std::move(value));
  for (auto& [name, x] : file.tensors) {
    const std::size_t slash = name.find('/');
    if (slash == 0 || slash == std::string::npos)
      fail("{}: a tensor's name must be \"section/name\", got \"{}\"", state.where_, printable(name, 80));
    state.sections[name.substr(0, slash)].emplace(name.substr(slash + 1), std::move(x));
  }
  if (!file.indices.empty())
    fail("{}: tensors must hold floating-point numbers, got whole numbers in \"{}\"", state.where_,
         printable(file.indices.begin()->first, 80));
  return state;
}

void TrainingState::restore(const std::map<std::string, State>& living) const {
  tapestry::restore(joined(living), joined(sections), where_ + " does not fit");
}

}  // namespace tapestry
