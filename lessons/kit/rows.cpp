// Printing of small matrices.
#include "lessons/kit/rows.hpp"

#include <fmt/format.h>

#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {

void print_rows(std::string_view name, const Tensor& x, int decimals) {
  constexpr int kLabelWidth = 10;
  for (Size i = 0; i < x.size(0); ++i) {
    fmt::print("  {}", pad_right(i == 0 ? name : "", kLabelWidth));
    for (Size j = 0; j < x.size(1); ++j) fmt::print("  {:{}.{}f}", x.at({i, j}), decimals + 4, decimals);
    fmt::print("\n");
  }
}

}  // namespace tapestry::kit
