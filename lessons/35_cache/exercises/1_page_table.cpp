// 35.1 page_table: Attention over a page table
// implement, 15 minutes
//
// The keys and values of many texts are stored in pages of S positions. The page table of a text contains the numbers
// of its pages: position p is at place p mod S of page table[p / S], where p / S is rounded down.
//
// Compute attention for one query over the first `length` positions of a text:
//
//     weights = softmax(K q / √d),    result = Σ_p weights_p v_p
//
// The shapes are q (d), keys (pages, S, d) and values (pages, S, e), and the result has the shape (e). The last page
// of a text may be partly filled: its other places contain arbitrary numbers. `length` is at least 1.
#include "lessons/grader/answer.hpp"

Tensor read_pages(const Tensor& q, const Tensor& keys, const Tensor& values, const std::vector<Size>& table,
                  Size length) {
  const Size size = keys.size(1);  // S
  //[ about eight lines
  //: return not_written_yet();
  std::vector<Tensor> k, v;
  for (Size begin = 0; begin < length; begin += size) {
    const Size number = table[static_cast<std::size_t>(begin / size)];
    const Size filled = std::min(size, length - begin);  // less than S in the last page
    k.push_back(slice(select(keys, 0, number), 0, 0, filled));
    v.push_back(slice(select(values, 0, number), 0, 0, filled));
  }
  const Tensor scores = matmul(concat(k, 0), unsqueeze(q, 1)) / std::sqrt(static_cast<double>(q.size(0)));
  return squeeze(matmul(transpose(softmax(scores, 0)), concat(v, 0)), 0);
  //]
}

// hint: How many pages does the text use, and how many positions of each page are filled?
// hint: Page i of the text is select(keys, 0, table[i]). It has min(S, length − ____) filled positions.
// hint: Collect the slices of all pages in a std::vector<Tensor>, and join them with concat(list, 0). Then one
//   softmax over all positions is enough.

// wrong: You read pages 0, 1, 2, … of the memory. The pages of a text may be anywhere: use the table.
// - const Size number = table[static_cast<std::size_t>(begin / size)];
// + const Size number = begin / size;
// wrong: You read the whole last page. Its places after the end of the text contain numbers of other texts.
// - const Size filled = std::min(size, length - begin);
// + const Size filled = size;
// wrong: You forgot the factor 1/√d of the scores.
// - const Tensor scores = matmul(concat(k, 0), unsqueeze(q, 1)) / std::sqrt(static_cast<double>(q.size(0)));
// + const Tensor scores = matmul(concat(k, 0), unsqueeze(q, 1));
// wrong: You dropped the last page if it is only partly filled. Its filled positions belong to the text.
// - for (Size begin = 0; begin < length; begin += size) {
// + for (Size begin = 0; begin == 0 || begin + size <= length; begin += size) {

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

void compare(Judge& judge, Size size, Size length, Size d, Size e) {
  const Size used = (length + size - 1) / size, pages = 2 * used + 1;
  std::vector<Size> numbers;
  for (Size i = 0; i < pages; ++i) numbers.push_back(pages - 1 - i);
  judge.random().shuffle(numbers);
  const std::vector<Size> table(numbers.begin(), numbers.begin() + used);
  const Tensor q = judge.normal({d}), keys = judge.normal({pages, size, d}),
               values = judge.normal({pages, size, e});
  const std::vector<double> q_at = q.to_vector(), k_at = keys.to_vector(), v_at = values.to_vector();
  std::vector<double> sum(static_cast<std::size_t>(e), 0.0);
  double total = 0;
  for (Size p = 0; p < length; ++p) {
    const Size row = table[static_cast<std::size_t>(p / size)] * size + p % size;
    double score = 0;
    for (Size i = 0; i < d; ++i)
      score += q_at[static_cast<std::size_t>(i)] * k_at[static_cast<std::size_t>(row * d + i)];
    const double weight = std::exp(score / std::sqrt(static_cast<double>(d)));
    total += weight;
    for (Size i = 0; i < e; ++i)
      sum[static_cast<std::size_t>(i)] += weight * v_at[static_cast<std::size_t>(row * e + i)];
  }
  for (double& number : sum) number /= total;
  judge.same(read_pages(q, keys, values, table, length), tensor(sum, {e}, q.dtype()), "the result");
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("reads a text of two pages, the second one partly filled", [&] {
    judge.example("pages of 4 positions, a text of 6 positions");
    compare(judge, 4, 6, 4, 3);
  });
  judge.claim("reads texts of any length", [&] {
    judge.each_size({{"page size", 1, 4}, {"length", 1, 9}, {"d", 1, 4}, {"e", 1, 3}},
                    [&](const Sizes& n) { compare(judge, n[0], n[1], n[2], n[3]); });
  });
}
