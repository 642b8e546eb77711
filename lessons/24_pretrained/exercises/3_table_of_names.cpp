// 24.3 table_of_names: Debugging a table of names
// debug, 15 minutes
//
// A file contains the weights of one BERT block under its authors' names. This program loads them into our
// block (post-norm: y = norm(x + attention(x)), then norm(y + feed-forward(y))). The program runs, all shapes
// fit, and the attention weights of each row sum to 1. But the states differ from those of the authors'
// program, because three names are wrong. Find them. The names in the file are:
//
//     attention.self.query, attention.self.key, attention.self.value, attention.output.dense,
//     attention.output.LayerNorm, intermediate.dense, output.dense, output.LayerNorm
#include "lessons/grader/answer.hpp"

/// The name in the file for each part of our block.
struct Names {
  std::string query, key, value, context, attention_norm, in, out, feed_forward_norm;
};

Names names_in_file() {
  Names names;
  //[ the name for each part
  //: names.query = "attention.self.key";
  //: names.key = "attention.self.query";
  //: names.value = "attention.self.value";
  //: names.context = "attention.output.dense";  // projects the attention's output
  //: names.attention_norm = "output.LayerNorm";
  //: names.in = "intermediate.dense";
  //: names.out = "output.dense";
  //: names.feed_forward_norm = "output.LayerNorm";
  names.query = "attention.self.query";  // each row of the weights belongs to one query
  names.key = "attention.self.key";
  names.value = "attention.self.value";
  names.context = "attention.output.dense";             // projects the attention's output
  names.attention_norm = "attention.output.LayerNorm";  // after x + attention(x)
  names.in = "intermediate.dense";
  names.out = "output.dense";
  names.feed_forward_norm = "output.LayerNorm";  // after y + feed-forward(y)
  //]
  return names;
}

// hint: Which parts of a block have weights of the same shape? If you exchange these, all shapes still fit.
// hint: The scores are Q Kᵀ. If Q and K are exchanged, the scores are K Qᵀ, the transpose. Which lines cause
//   that?
// hint: The file has eight names, and the table has eight lines, so each name must occur once. Which name
//   occurs twice, and which one is missing?
//
// start: All shapes fit, because the confused parts have weights of the same shape. But the attention weights
//   differ from the authors'. Check the names of the query and the key first. Then look for a name that
//   occurs twice.
//
// wrong: Queries and keys are right now. But one name occurs twice, and one of the eight names is missing.
//   Compare the two norms: their weights have the same shape.
// - names.attention_norm = "attention.output.LayerNorm";
// + names.attention_norm = "output.LayerNorm";
// wrong: Queries and keys are still exchanged. So the matrix of scores is transposed, and each word attends
//   to the wrong words.
// - names.query = "attention.self.query";
// - names.key = "attention.self.key";
// + names.query = "attention.self.key";
// + names.key = "attention.self.query";
// wrong: The two norms are exchanged. The norm whose name begins with "attention" comes after the attention.
// - names.attention_norm = "attention.output.LayerNorm";
// - names.in = "intermediate.dense";
// - names.out = "output.dense";
// - names.feed_forward_norm = "output.LayerNorm";
// + names.attention_norm = "output.LayerNorm";
// + names.in = "intermediate.dense";
// + names.out = "output.dense";
// + names.feed_forward_norm = "attention.output.LayerNorm";
// wrong: You load the weights of the key for the query as well. So queries and keys are the same vectors, and
//   the scores are symmetric. The file has separate weights for the query.
// - names.query = "attention.self.query";
// + names.query = "attention.self.key";
// wrong: You exchanged value and context. The weights of the value are under "self". The projection of the
//   attention's output is under "output".
// - names.value = "attention.self.value";
// - names.context = "attention.output.dense";
// + names.value = "attention.output.dense";
// + names.context = "attention.self.value";
// wrong: The file has no such name.
// - names.value = "attention.self.value";
// + names.value = "attention.value";

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

using File =
    std::map<std::string, std::pair<Tensor, Tensor>>;  // weight and bias; a norm's weight is its gain
using Row = std::vector<double>;

File draw_file(Judge& judge, Size d, Size hidden) {
  const auto matrix = [&](Size out, Size in) {
    return std::pair{judge.normal({out, in}) / std::sqrt(static_cast<double>(in)), judge.normal({out})};
  };
  File file;
  for (const char* name :
       {"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"})
    file[name] = matrix(d, d);
  file["intermediate.dense"] = matrix(hidden, d);
  file["output.dense"] = matrix(d, hidden);
  for (const char* name : {"attention.output.LayerNorm", "output.LayerNorm"})
    file[name] = {judge.uniform({d}, 0.5, 2), judge.normal({d})};
  return file;
}

/// Our block, built from ops.
Tensor ours(const File& file, const Names& names, const Tensor& x) {
  const auto linear = [&](const Tensor& in, const std::string& name) {
    const auto& [weight, bias] = file.at(name);
    return matmul(in, transpose(weight)) + bias;
  };
  const auto norm = [&](const Tensor& in, const std::string& name) {
    const Tensor off = in - mean(in, {-1}, Keep::yes);
    const auto& [gain, bias] = file.at(name);
    return off / sqrt(mean(off * off, {-1}, Keep::yes) + 1e-12) * gain + bias;
  };
  const Tensor scores = matmul(linear(x, names.query), transpose(linear(x, names.key)));
  const Tensor read =
      matmul(softmax(scores / std::sqrt(static_cast<double>(x.size(1))), -1), linear(x, names.value));
  const Tensor y = norm(x + linear(read, names.context), names.attention_norm);
  return norm(y + linear(gelu(linear(y, names.in)), names.out), names.feed_forward_norm);
}

/// The authors' program, in loops, with the right meaning of the file's names.
Tensor theirs(const File& file, const Tensor& x) {
  const Size words = x.size(0), d = x.size(1);
  const auto at = [](Row& row, Size i) -> double& { return row[static_cast<std::size_t>(i)]; };
  const auto linear = [&](Row& in, const char* name) {
    const auto& [weight, bias] = file.at(name);
    Row out;
    for (Size o = 0; o < weight.size(0); ++o) {
      double sum = bias.at({o});
      for (Size i = 0; i < weight.size(1); ++i) sum += weight.at({o, i}) * at(in, i);
      out.push_back(sum);
    }
    return out;
  };
  const auto norm = [&](Row in, Row add, const char* name) {
    double mean = 0, square = 0;
    for (Size i = 0; i < d; ++i) at(in, i) += at(add, i), mean += at(in, i) / static_cast<double>(d);
    for (double& value : in) value -= mean, square += value * value / static_cast<double>(d);
    const auto& [gain, bias] = file.at(name);
    for (Size i = 0; i < d; ++i)
      at(in, i) = at(in, i) / std::sqrt(square + 1e-12) * gain.at({i}) + bias.at({i});
    return in;
  };
  std::vector<Row> in, keys, values;
  for (Size t = 0; t < words; ++t) {
    in.push_back(select(x, 0, t).to_vector());
    keys.push_back(linear(in.back(), "attention.self.key"));
    values.push_back(linear(in.back(), "attention.self.value"));
  }
  Row all;
  for (Row& row : in) {
    Row query = linear(row, "attention.self.query"), read(static_cast<std::size_t>(d), 0.0);
    double sum = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      double score = 0;
      for (Size i = 0; i < d; ++i) score += at(query, i) * at(keys[j], i) / std::sqrt(static_cast<double>(d));
      sum += std::exp(score);
      for (Size i = 0; i < d; ++i) at(read, i) += std::exp(score) * at(values[j], i);
    }
    for (double& value : read) value /= sum;
    const Row y = norm(row, linear(read, "attention.output.dense"), "attention.output.LayerNorm");
    Row copy = y, hidden = linear(copy, "intermediate.dense");
    for (double& h : hidden) h *= 0.5 * (1 + std::erf(h / std::sqrt(2.0)));
    for (const double value : norm(y, linear(hidden, "output.dense"), "output.LayerNorm"))
      all.push_back(value);
  }
  return tensor(all, x.shape(), DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  const Names names = names_in_file();
  judge.claim("uses only names that the file has", [&] {
    const File file = draw_file(judge, 2, 3);
    for (const std::string& name : {names.query, names.key, names.value, names.context, names.attention_norm,
                                    names.in, names.out, names.feed_forward_norm})
      judge.that(file.count(name) == 1, "the file has no \"" + name + "\"");
  });
  judge.claim("computes the same states as the authors' program", [&] {
    judge.each_size({{"words", 3, 4}, {"d", 4, 4}, {"hidden", 5, 5}}, [&](const Sizes& n) {
      const File file = draw_file(judge, n[1], n[2]);
      const Tensor x = judge.normal({n[0], n[1]});
      judge.same(ours(file, names, x), theirs(file, x), "the states");
    });
  });
}
