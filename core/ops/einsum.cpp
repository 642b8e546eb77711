// einsum is composed of other ops: views and sums reduce each operand to distinct letters; one matmul, or one mul if
// no letter is summed, does the rest.
#include "core/ops/einsum.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/broadcast.hpp"

namespace tapestry {

namespace {

/// An operand with one letter for each axis.
struct Named {
  Tensor x;
  std::string letters;

  bool has(char letter) const { return letters.find(letter) != std::string::npos; }
  int axis(char letter) const { return static_cast<int>(letters.find(letter)); }
  Size size(char letter) const { return has(letter) ? x.size(axis(letter)) : 1; }
};

/// Letters of the operands and of the result.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

Equation parse(std::string_view text, std::size_t operands, CallSite at) {
  const auto refuse = [&](std::string_view why) {
    fail("[einsum] equation \"{}\" {} ({}:{})", text, why, at.file, at.line);
  };
  if (text.find('.') != std::string_view::npos)
    refuse("must not contain an ellipsis; write one letter for each axis");
  Equation equation{{""}, {}};
  bool explicit_result = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c == ' ') continue;
    if (is_letter) {
      (explicit_result ? equation.result : equation.operands.back()) += c;
    } else if (c == ',' && !explicit_result) {
      equation.operands.emplace_back();
    } else if (c == '-' && !explicit_result && i + 1 < text.size() && text[i + 1] == '>') {
      explicit_result = true;
      ++i;
    } else {
      refuse("must consist of letters, commas and one \"->\", as in \"ij,jk->ik\"");
    }
  }
  if (equation.operands.size() != operands)
    fail("[einsum] equation \"{}\" must name {} operand{}, got {}; separate operands by commas ({}:{})", text,
         operands, operands == 1 ? "" : "s", equation.operands.size(), at.file, at.line);
  std::string all;
  for (const std::string& letters : equation.operands) all += letters;
  if (!explicit_result) {
    for (const char letter : all)
      if (std::count(all.begin(), all.end(), letter) == 1) equation.result += letter;
    std::sort(equation.result.begin(), equation.result.end());
  }
  for (const char letter : equation.result)
    if (std::count(equation.result.begin(), equation.result.end(), letter) > 1 ||
        all.find(letter) == std::string::npos)
      refuse("must have each letter of the result once in the result and in an operand");
  if (static_cast<int>(equation.result.size()) > kMaxRank)
    fail("[einsum] equation \"{}\" must name at most {} axes of the result, got {} ({}:{})", text, kMaxRank,
         equation.result.size(), at.file, at.line);
  return equation;
}

/// Selects the diagonal of each letter that occurs twice.
Named diagonals(Named named, CallSite at) {
  for (int first = 0; first < named.x.rank(); ++first) {
    const char letter = named.letters[static_cast<std::size_t>(first)];
    for (auto second = static_cast<int>(named.letters.rfind(letter)); second > first;
         second = static_cast<int>(named.letters.rfind(letter))) {
      const Size n = named.x.size(first);
      if (named.x.size(second) != n)
        fail("[einsum] axes {} and {} of {} must have equal sizes for the letter {} ({}:{})", first, second,
             describe(named.x), letter, at.file, at.line);
      // The elements of a diagonal are n + 1 apart in a matrix whose two axes are joined.
      Dims order, joined;
      for (int axis = 0; axis < named.x.rank(); ++axis)
        if (axis != first && axis != second) order.push_back(axis), joined.push_back(named.x.size(axis));
      order.push_back(first), order.push_back(second), joined.push_back(n * n);
      const Tensor flat = reshape(permute(named.x, order, at), joined, at);
      named.x = slice(flat, -1, 0, n * n, n + 1, at);
      named.letters.erase(static_cast<std::size_t>(second), 1);
      named.letters.erase(static_cast<std::size_t>(first), 1);
      named.letters += letter;
      return diagonals(std::move(named), at);
    }
  }
  return named;
}

/// Returns the operand with distinct letters: takes diagonals, and sums over letters that `needed` does not contain.
Named prepared(const Tensor& x, const std::string& letters, const std::string& needed,
               std::string_view equation, CallSite at) {
  if (static_cast<int>(letters.size()) != x.rank())
    fail("[einsum] \"{}\" in \"{}\" must have one letter for each axis of {} ({}:{})", letters, equation,
         describe(x), at.file, at.line);
  Named named = diagonals({x, letters}, at);
  Dims summed;
  std::string kept;
  for (int axis = 0; axis < named.x.rank(); ++axis) {
    const char letter = named.letters[static_cast<std::size_t>(axis)];
    if (needed.find(letter) == std::string::npos)
      summed.push_back(axis);
    else
      kept += letter;
  }
  if (!summed.empty()) named = {sum(named.x, summed, Keep::no, at), kept};
  return named;
}

/// Returns the axes of the operand in the order of `letters`, all of which it has.
Tensor in_order(const Named& named, const std::string& letters, CallSite at) {
  Dims order;
  for (const char letter : letters) order.push_back(named.axis(letter));
  return permute(named.x, order, at);
}

/// Returns the operand with an axis for each of the letters, of size 1 for those that it lacks.
Tensor aligned(const Named& named, const std::string& letters, CallSite at) {
  std::string own;
  Dims shape;
  for (const char letter : letters) {
    if (named.has(letter)) own += letter;
    shape.push_back(named.size(letter));
  }
  return reshape(in_order(named, own, at), shape, at);
}

}  // namespace

Tensor einsum(std::string_view equation, const Tensor& a, CallSite at) {
  const Equation e = parse(equation, 1, at);
  return in_order(prepared(a, e.operands[0], e.result, equation, at), e.result, at);
}

Tensor einsum(std::string_view equation, const Tensor& a, const Tensor& b, CallSite at) {
  check_same_dtype(a, b, "einsum", at);
  const Equation e = parse(equation, 2, at);
  const Named left = prepared(a, e.operands[0], e.operands[1] + e.result, equation, at),
              right = prepared(b, e.operands[1], e.operands[0] + e.result, equation, at);
  // Letters of both operands, in the result (batch) or not (summed); letters of the left (rows) or right (columns) only.
  std::string batch, summed, rows, columns;
  for (const char letter : left.letters) {
    const bool in_result = e.result.find(letter) != std::string::npos;
    if (right.has(letter) && left.size(letter) != right.size(letter) && left.size(letter) != 1 &&
        right.size(letter) != 1)
      fail("[einsum] the letter {} of \"{}\" must have one size, got {} in {} and {} in {} ({}:{})", letter,
           equation, left.size(letter), describe(a), right.size(letter), describe(b), at.file, at.line);
    (right.has(letter) ? (in_result ? batch : summed) : rows) += letter;
  }
  for (const char letter : right.letters)
    if (!left.has(letter)) columns += letter;
  if (summed.empty()) return mul(aligned(left, e.result, at), aligned(right, e.result, at), at);

  const auto size_of = [&](char letter) {
    return left.size(letter) == 1 ? right.size(letter) : left.size(letter);
  };
  // Broadcasts the letters that both operands have, then joins each group of letters into one axis.
  const auto matrix = [&](const Named& named, const std::string& first, const std::string& second) {
    const std::string letters = batch + first + second;
    Dims shape, joined;
    for (const char letter : letters) shape.push_back(size_of(letter));
    for (const std::string& group : {batch, first, second}) {
      Size size = 1;
      for (const char letter : group) size *= size_of(letter);
      joined.push_back(size);
    }
    if (batch.empty()) joined.erase(0);
    return reshape(expand(in_order(named, letters, at), shape, at), joined, at);
  };
  const Named product{{}, batch + rows + columns};
  Dims shape;
  for (const char letter : product.letters) shape.push_back(size_of(letter));
  const Tensor y = matmul(matrix(left, rows, summed), matrix(right, summed, columns), at);
  return in_order({reshape(y, shape, at), product.letters}, e.result, at);
}

}  // namespace tapestry
