// 3.6 engine_embedding: Embeddings for your engine
// derive, 10 minutes, piece embedding.hpp
//
// An embedding table of shape (words, width) has one row for each word. embedding(table, ids, front) returns the rows
// of the given ids, y_i = table[ids[i]], and arranges them along the axes `front`. For example, six ids and front =
// {2, 3} give the shape (2, 3, width).
//
// Write the values and the rule. Which rows of the table get a gradient? Which gradient does a row get whose id occurs
// twice, or never?
#include "engine/optimisers.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

inline Value embedding(const Value& table, const std::vector<int>& ids, const std::vector<int>& front) {
  const std::vector<int> shape = table.array().shape;
  const auto width = static_cast<std::size_t>(shape[1]);
  std::vector<int> of_y = front;
  of_y.push_back(shape[1]);
  Array y = filled(of_y, 0);
  //[ the values, about three lines
  //: not_written_yet();
  for (std::size_t i = 0; i < ids.size(); ++i)
    for (std::size_t j = 0; j < width; ++j)
      y.data[i * width + j] = table.array().data[static_cast<std::size_t>(ids[i]) * width + j];
  //]
  const Rule rule = [ids, shape, width](const Array& gradient) {
    Array of_table = filled(shape, 0);
    //[ the rule, about three lines
    //: not_written_yet();
    for (std::size_t i = 0; i < ids.size(); ++i)
      for (std::size_t j = 0; j < width; ++j)
        of_table.data[static_cast<std::size_t>(ids[i]) * width + j] += gradient.data[i * width + j];
    //]
    return std::vector{of_table};
  };
  return table.tape->record(y, {table}, rule);
}

}  // namespace engine

// hint: Row i of the result is row ids[i] of the table. This row has `width` numbers, and the first has the index
//   ids[i] · width.
// hint: The rule has the same two loops, and goes from the gradient to the table. What if two i have the same id?
// hint: of_table.data[ids[i] · width + j] += gradient.data[i · width + j]. Rows whose id does not occur keep 0.
//
// wrong: A word that occurs twice gets the gradient of only one of its places. Both places used the row.
// - of_table.data[static_cast<std::size_t>(ids[i]) * width + j] += gradient.data[i * width + j];
// + of_table.data[static_cast<std::size_t>(ids[i]) * width + j] = gradient.data[i * width + j];
// wrong: The index ids[i] + j can be in another row. Each row has `width` numbers, so row ids[i] starts at ids[i] ·
//   width.
// - y.data[i * width + j] = table.array().data[static_cast<std::size_t>(ids[i]) * width + j];
// + y.data[i * width + j] = table.array().data[static_cast<std::size_t>(ids[i]) + j];
// wrong: You add the gradient to row i of the table. The row that was used is ids[i].
// - of_table.data[static_cast<std::size_t>(ids[i]) * width + j] += gradient.data[i * width + j];
// + of_table.data[i % static_cast<std::size_t>(shape[0]) * width + j] += gradient.data[i * width + j];

//= judge
#include "lessons/grader/judge/engine.hpp"

void judge(Judge& judge) {
  using engine::Array, engine::Tape, engine::Value;
  judge.claim("returns the rows of the ids, and adds up their gradients", [&] {
    Tape tape;
    const Value table = tape.leaf({{3, 2}, {1, 2, 3, 4, 5, 6}});
    const Value rows = engine::embedding(table, {2, 0, 2}, {3});
    judge.example("the table ((1, 2), (3, 4), (5, 6)), the ids 2, 0, 2");
    judge.same(rows.array().data, {5, 6, 1, 2, 5, 6}, "the rows");
    tape.backward(rows * tape.leaf({{3, 2}, {1, 2, 3, 4, 5, 6}}));
    judge.same(table.gradient().data, {3, 4, 0, 0, 6, 8},
               "the table's gradient if the rule receives (1, 2), (3, 4), (5, 6)");
  });
  judge.claim("computes the same values and gradients as Tapestry for random ids", [&] {
    judge.each_size({{"words", 1, 5}, {"width", 1, 3}, {"rows", 1, 3}, {"columns", 1, 4}},
                    [&](const Sizes& n) {
                      std::vector<int> ids;
                      for (Size i = 0; i < n[2] * n[3]; ++i)
                        ids.push_back(static_cast<int>(judge.random().below(n[0])));
                      const std::vector<std::int64_t> same(ids.begin(), ids.end());
                      const std::vector<int> front{static_cast<int>(n[2]), static_cast<int>(n[3])};
                      grader::agree<Tape>(
                          judge, {judge.normal({n[0], n[1]})},
                          [&](const std::vector<Value>& in) { return engine::embedding(in[0], ids, front); },
                          [&](const std::vector<Tensor>& in) {
                            return tapestry::embedding(in[0], Indices(same, {n[2], n[3]}));
                          });
                    });
  });
}
