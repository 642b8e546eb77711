// Checks all values before writing any of them.
#include "core/io/restore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/io/text.hpp"

namespace tapestry {

namespace {

constexpr std::size_t kListed = 20;

std::string listed(const std::vector<std::string>& faults) {
  const std::size_t shown = std::min(faults.size(), kListed);
  std::string text =
      fmt::format("{}", fmt::join(faults.begin(), faults.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
  if (faults.size() > shown) text += fmt::format("; and {} more", faults.size() - shown);
  return text;
}

}  // namespace

void restore(const State& living, const State& given, std::string_view what, OtherTypes types,
             std::vector<std::string> faults) {
  for (const auto& [name, x] : living) {
    const auto place = given.find(name);
    const std::string label = printable(name, 80);
    if (place == given.end()) {
      faults.push_back(fmt::format("\"{}\" is missing", label));
      continue;
    }
    const Tensor& values = place->second;
    if (!values.defined() || !values.impl().buffer)
      faults.push_back(fmt::format("\"{}\" has no values", label));
    else if (values.shape() != x.shape())
      faults.push_back(fmt::format("\"{}\" must have shape {}, got {}", label, to_string(x.shape()),
                                   to_string(values.shape())));
    else if (types == OtherTypes::refused && x.impl().buffer && values.dtype() != x.dtype())
      faults.push_back(
          fmt::format("\"{}\" must be {}, got {}", label, name_of(x.dtype()), name_of(values.dtype())));
  }
  for (const auto& [name, values] : given)
    if (!living.count(name)) faults.push_back(fmt::format("unknown name \"{}\"", printable(name, 80)));
  if (!faults.empty()) fail("{}, and nothing was loaded: {}", what, listed(faults));
  for (const auto& [name, x] : living) {
    Tensor target = x;
    const Tensor& values = given.at(name);
    if (!target.impl().buffer) target.impl().dtype = values.dtype();
    assign(target, values);
  }
}

}  // namespace tapestry
