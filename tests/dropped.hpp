// Where a computation drops: read off its tape, whatever the layers say of themselves.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "core/simd/view.hpp"
#include "core/tape/node_info.hpp"
#include "core/tape/tape.hpp"
#include "tests/catch.hpp"

namespace tapestry::test {

/// How often each place is dropped: "softmax (2,4,3,3)", the op that made what is dropped and its shape, to a
/// count.
using Dropped = std::map<std::string, int>;

/// What f(), which returns what it computed, drops.
template <class F>
Dropped dropped(const F& f) {
  Tape tape;
  const auto kept = f();
  Dropped found;
  for (std::size_t i = 0; i < tape.size(); ++i) {
    const NodeInfo node = tape.node(i);
    if (std::string(node.op) != "dropout") continue;
    const NodeInfo::Input from = node.inputs.at(0);
    const std::string of = from.is_leaf ? "leaf" : tape.node(from.index).op;
    ++found[of + " " + to_string(node.shape)];
  }
  return found;
}

}  // namespace tapestry::test

namespace Catch {

template <>
struct StringMaker<std::pair<const std::string, int>> {
  static std::string convert(const std::pair<const std::string, int>& of) {
    return std::to_string(of.second) + " × " + of.first;
  }
};

}  // namespace Catch
