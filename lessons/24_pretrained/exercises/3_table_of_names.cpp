// 24.3 table_of_names: every shape fits, and the numbers are wrong
// debug, 15 minutes
//
// A file has one BERT block's weights under the names that their authors gave them, and this program reads
// them into a block of ours (post-norm: y = norm(x + attention(x)), then norm(y + feed-forward(y))). It runs,
// all shapes fit, the weights of each row sum to 1. But its states are not those that the authors' own
// program gives. Three names are wrong. Find them: the file's are
//
//     attention.self.query, attention.self.key, attention.self.value, attention.output.dense,
//     attention.output.LayerNorm, intermediate.dense, output.dense, output.LayerNorm
#include "lessons/grader/answer.hpp"

/// Which name in the file each part of our block has.
struct Names {
  std::string query, key, value, context, attention_norm, in, out, feed_forward_norm;
};

Names names_in_file() {
  Names names;
  //[ a name for each part
  //: names.query = "attention.self.key";
  //: names.key = "attention.self.query";
  //: names.value = "attention.self.value";
  //: names.context = "attention.output.dense";  // what is done to what was read
  //: names.attention_norm = "output.LayerNorm";
  //: names.in = "intermediate.dense";
  //: names.out = "output.dense";
  //: names.feed_forward_norm = "output.LayerNorm";
  names.query = "attention.self.query";  // the one that asks: each row of weights is one query's
  names.key = "attention.self.key";
  names.value = "attention.self.value";
  names.context = "attention.output.dense";             // what is done to what was read
  names.attention_norm = "attention.output.LayerNorm";  // behind x + attention(x)
  names.in = "intermediate.dense";
  names.out = "output.dense";
  names.feed_forward_norm = "output.LayerNorm";  // behind y + feed-forward(y)
  //]
  return names;
}

// hint: Which parts of a block have weights of the same shape, so that no shape would complain if they were
//   exchanged?
// hint: Scores are Q Kᵀ. Exchange Q and K and they are (Q Kᵀ)ᵀ: what would ask is asked. Which line says so?
// hint: A file with eight parts, and eight lines here: each name stands once. Which one is there twice, and
//   which is missing?
//
// start: No shape complains, since the mistaken parts have one shape. The rows of the attention's weights are
//   other ones than the authors', so begin with what asks and what is asked; then look which name is there
//   twice.
//
// wrong: Queries and keys are right now. But one name is there twice, and another one of the eight not at
//   all: the two norms have weights of one shape.
// - names.attention_norm = "attention.output.LayerNorm";
// + names.attention_norm = "output.LayerNorm";
// wrong: Queries and keys are still exchanged: the matrix of scores is turned over, and each word reads what
//   should have read it.
// - names.query = "attention.self.query";
// - names.key = "attention.self.key";
// + names.query = "attention.self.key";
// + names.key = "attention.self.query";
// wrong: The two norms are exchanged: the one under "attention" stands behind the attention.
// - names.attention_norm = "attention.output.LayerNorm";
// - names.in = "intermediate.dense";
// - names.out = "output.dense";
// - names.feed_forward_norm = "output.LayerNorm";
// + names.attention_norm = "output.LayerNorm";
// + names.in = "intermediate.dense";
// + names.out = "output.dense";
// + names.feed_forward_norm = "attention.output.LayerNorm";
// wrong: You take the keys' numbers for queries as well. Then each word finds itself: the file has other
//   numbers for what asks.
// - names.query = "attention.self.query";
// + names.query = "attention.self.key";
// wrong: What is read is projected by the values' matrix, and the values by the output's: value stands under
//   self, what comes after it under output.
// - names.value = "attention.self.value";
// - names.context = "attention.output.dense";
// + names.value = "attention.output.dense";
// + names.context = "attention.self.value";
// wrong: That name is in no such file.
// - names.value = "attention.self.value";
// + names.value = "attention.value";

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

using File = std::map<std::string, std::pair<Tensor, Tensor>>;  // weight and bias, or gain and bias
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

/// Our block, of ops.
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

/// The authors' program: loops, and the file's names as they are meant.
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
  judge.claim("asks for names that the file has", [&] {
    const File file = draw_file(judge, 2, 3);
    for (const std::string& name : {names.query, names.key, names.value, names.context, names.attention_norm,
                                    names.in, names.out, names.feed_forward_norm})
      judge.that(file.count(name) == 1, "the file has no \"" + name + "\"");
  });
  judge.claim("gives the states that the authors' program gives", [&] {
    judge.each_size({{"words", 3, 4}, {"d", 4, 4}, {"hidden", 5, 5}}, [&](const Sizes& n) {
      const File file = draw_file(judge, n[1], n[2]);
      const Tensor x = judge.normal({n[0], n[1]});
      judge.same(ours(file, names, x), theirs(file, x), "the states");
    });
  });
}
