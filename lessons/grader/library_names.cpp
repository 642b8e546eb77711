#include "lessons/grader/library_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

namespace tapestry::grader {

namespace {

constexpr auto kNames =
    std::to_array<std::string_view>({"abs",         "arange",        "argmax",     "argmin",
                                     "argsort",     "attend",        "clamp",      "concat",
                                     "cos",         "cross_entropy", "cumsum",     "div",
                                     "dropout",     "einsum",        "elu",        "embedding",
                                     "entmax15",    "exp",           "expand",     "eye",
                                     "flip",        "floor",         "fmod",       "full",
                                     "gather",      "gelu",          "greater",    "greater_equal",
                                     "layer_norm",  "less",          "less_equal", "log",
                                     "log_sigmoid", "log_softmax",   "logsumexp",  "masked_softmax",
                                     "matmul",      "max",           "maximum",    "mean",
                                     "min",         "minimum",       "one_hot",    "ones",
                                     "pad",         "permute",       "pow",        "prod",
                                     "relu",        "random_normal", "reshape",    "random_uniform",
                                     "roll",        "scatter_add",   "select",     "sigmoid",
                                     "silu",        "sin",           "slice",      "softmax",
                                     "softplus",    "sort",          "sparsemax",  "sqrt",
                                     "squeeze",     "stack",         "sum",        "tanh",
                                     "tensor",      "topk",          "transpose",  "unsqueeze",
                                     "var",         "variable",      "where",      "zeros"});

std::string letters(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::span<const std::string_view> library_names() { return kNames; }

int spelling_distance(std::string_view a, std::string_view b) {
  const std::string from = letters(a), to = letters(b);
  std::vector<int> before, last(to.size() + 1),
      row(to.size() + 1);  // of the two letters before, and of this one
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[to.size()];
}

std::string_view nearest_library_name(std::string_view misspelt) {
  // Sizes of a tensor in other libraries; "cols" is no cos.
  for (const std::string_view size : {"cols", "rows", "len"})
    if (misspelt == size) return "";
  const std::string wrong = letters(misspelt);
  if (wrong.size() > 30) return "";  // longer than any name
  std::string_view nearest;
  int fewest = wrong.size() < 6 ? 2 : 3;
  std::ptrdiff_t longest_start = 0;
  for (const std::string_view name : kNames) {
    const std::string right = letters(name);
    const int distance = spelling_distance(wrong, right);
    std::string sorted_wrong = wrong, sorted_right = right;
    std::sort(sorted_wrong.begin(), sorted_wrong.end());
    std::sort(sorted_right.begin(), sorted_right.end());
    // A letter was replaced, and none was exchanged.
    if (wrong.size() <= 4 && wrong.size() == right.size() && sorted_wrong != sorted_right) continue;
    const std::ptrdiff_t start =
        std::mismatch(wrong.begin(), wrong.end(), right.begin(), right.end()).first - wrong.begin();
    if (distance > fewest || (distance == fewest && (nearest.empty() || start <= longest_start))) continue;
    nearest = name, fewest = distance, longest_start = start;
  }
  return nearest;
}

}  // namespace tapestry::grader
