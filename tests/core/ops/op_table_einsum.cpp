// Rows of core/ops/einsum: the reference runs over every assignment of the letters.
#include <algorithm>
#include <map>

#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

namespace {

/// The sum of products, with one loop for all letters.
Plain summed(const std::vector<std::string>& operands, const std::string& result, const Plains& p) {
  std::map<char, Size> sizes;
  for (std::size_t k = 0; k < operands.size(); ++k)
    for (std::size_t axis = 0; axis < operands[k].size(); ++axis) {
      const auto size = sizes.emplace(operands[k][axis], 1).first;
      size->second = std::max(size->second, p[k].shape[static_cast<int>(axis)]);
      if (p[k].shape[static_cast<int>(axis)] == 0) size->second = 0;
    }
  Dims all, shape;
  std::string letters;
  for (const auto& [letter, size] : sizes) all.push_back(size), letters += letter;
  for (const char letter : result) shape.push_back(sizes.at(letter));
  const auto place = [&](const std::string& of, const Dims& dims, const Index& index) {
    Size at = 0;
    for (std::size_t axis = 0; axis < of.size(); ++axis) {
      const Size size = dims[static_cast<int>(axis)];
      at = at * size + (size == 1 ? 0 : index[letters.find(of[axis])]);
    }
    return static_cast<std::size_t>(at);
  };
  Plain y{shape, std::vector<double>(static_cast<std::size_t>(shape.count()), 0.0)};
  generate(all, [&](const Index& index) {
    double product = 1;
    for (std::size_t k = 0; k < operands.size(); ++k)
      product *= p[k].v[place(operands[k], p[k].shape, index)];
    y.v[place(result, shape, index)] += product;
    return 0.0;
  });
  return y;
}

}  // namespace

Rows einsum_rows() {
  struct Case {
    std::string equation;
    std::vector<std::string> operands;
    std::string result;
    std::vector<Dims> shapes;
  };
  const std::vector<Case> cases{
      {"ij,jk->ik", {"ij", "jk"}, "ik", {{3, 4}, {4, 5}}},
      {"ij,jk", {"ij", "jk"}, "ik", {{3, 3}, {3, 3}}},
      {"ij, kj -> ki", {"ij", "kj"}, "ki", {{3, 4}, {5, 4}}},
      {"bhid,bhjd->bhij", {"bhid", "bhjd"}, "bhij", {{2, 3, 4, 2}, {2, 3, 5, 2}}},
      {"bihd,bjhd->bhij", {"bihd", "bjhd"}, "bhij", {{2, 4, 3, 2}, {2, 5, 3, 2}}},
      {"bij,bjk->kbi", {"bij", "bjk"}, "kbi", {{2, 3, 4}, {2, 4, 3}}},
      {"abc,bcd->ad", {"abc", "bcd"}, "ad", {{2, 3, 4}, {3, 4, 5}}},
      {"abc,cb->a", {"abc", "cb"}, "a", {{2, 3, 4}, {4, 3}}},
      {"i,j->ij", {"i", "j"}, "ij", {{3}, {4}}},
      {"i,j->ji", {"i", "j"}, "ji", {{3}, {4}}},
      {"i,i->", {"i", "i"}, "", {{5}, {5}}},
      {"i,i->i", {"i", "i"}, "i", {{5}, {5}}},
      {"ij,ij->ij", {"ij", "ij"}, "ij", {{3, 4}, {3, 4}}},
      {"ij,k->k", {"ij", "k"}, "k", {{3, 4}, {2}}},              // i and j are summed in one operand
      {"bij,bj->bi", {"bij", "bj"}, "bi", {{1, 3, 4}, {2, 4}}},  // an axis of 1 broadcasts
      {"ij,jk->ik", {"ij", "jk"}, "ik", {{3, 1}, {4, 2}}},       // a summed one, too
      {"ij,jk->ik", {"ij", "jk"}, "ik", {{3, 0}, {0, 2}}},
      {"ij,jk->ik", {"ij", "jk"}, "ik", {{0, 3}, {3, 2}}},
      {"ii,ij->j", {"ii", "ij"}, "j", {{3, 3}, {3, 4}}},
      {"ij,->ij", {"ij", ""}, "ij", {{2, 3}, {}}},
      {"bmk,bkn->bmn", {"bmk", "bkn"}, "bmn", {{3, 70, 33}, {3, 33, 41}}},
      {"abcdef,fc->bd", {"abcdef", "fc"}, "bd", {{2, 3, 2, 3, 2, 3}, {3, 2}}},
      {"ij->ji", {"ij"}, "ji", {{3, 4}}},
      {"ij", {"ij"}, "ij", {{3, 4}}},
      {"ba", {"ba"}, "ab", {{3, 4}}},
      {"ij->", {"ij"}, "", {{3, 4}}},
      {"ij->j", {"ij"}, "j", {{3, 4}}},
      {"ii->i", {"ii"}, "i", {{4, 4}}},
      {"ii", {"ii"}, "", {{4, 4}}},
      {"iji->j", {"iji"}, "j", {{3, 2, 3}}},
      {"iii->i", {"iii"}, "i", {{3, 3, 3}}},
      {"ijij->ji", {"ijij"}, "ji", {{2, 3, 2, 3}}},
      {"ii->i", {"ii"}, "i", {{0, 0}}},
      {"->", {""}, "", {{}}}};
  Row row{"einsum", {}};
  for (const Case& c : cases) {
    Plains inputs;
    for (const Dims& shape : c.shapes) inputs.push_back(normal(shape, 91 + inputs.size()));
    std::string label = c.equation;
    for (const Dims& shape : c.shapes) label += " " + text(shape);
    row.samples.push_back({label, inputs,
                           [c](const Tensors& t) {
                             return t.size() == 1 ? einsum(c.equation, t[0]) : einsum(c.equation, t[0], t[1]);
                           },
                           [c](const Plains& p) { return summed(c.operands, c.result, p); }});
  }
  const auto two = [](const char* equation, Dims a, Dims b) {
    return [=] { einsum(equation, zeros(a), zeros(b)); };
  };
  row.errors = {
      {two("...ij,jk->ik", {3, 4}, {4, 5}), "must not contain an ellipsis; write one letter for each axis"},
      {two("ij,jk->ik", {3, 4, 1}, {4, 5}),
       "\"ij\" in \"ij,jk->ik\" must have one letter for each axis of (3,4,1)"},
      {two("ij,jk->ik", {3, 4}, {5, 2}),
       "the letter j of \"ij,jk->ik\" must have one size, got 4 in (3,4) and 5"},
      {two("ij->i", {3, 4}, {4}), "must name 2 operands, got 1"},
      {[] {
         einsum("ij,j->i", zeros({3, 4}));
       },
       "must name 1 operand, got 2"},
      {two("ij,jk->ii", {3, 4}, {4, 5}), "must have each letter of the result once"},
      {two("ij,jk->iz", {3, 4}, {4, 5}), "must have each letter of the result once"},
      {two("i1,1k->ik", {3, 4}, {4, 5}), "must consist of letters, commas and one \"->\""},
      {two("ij,jk->i->k", {3, 4}, {4, 5}), "must consist of letters, commas and one \"->\""},
      {two("abcd,efgh->abcdefgh", {1, 1, 1, 1}, {1, 1, 1, 1}),
       "must name at most 6 axes of the result, got 8"},
      {[] {
         einsum("ii->i", zeros({3, 4}));
       },
       "must have equal sizes for the letter i"},
      {[] { einsum("i,i->i", zeros({3}), zeros({3}, DType::f64)); }, "[einsum]"}};
  return {row};
}

}  // namespace tapestry::table
