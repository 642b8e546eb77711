// The model that attends, compares and aggregates, and three models that lack a part.
#include "lessons/32_decomposable/entailer.hpp"

#include <numeric>

#include "core/core.hpp"
#include "nn/attention/masking.hpp"

namespace tapestry::lesson32 {
namespace {

Tensor equal_weights(const Tensor& scores, const Mask& mask) { return softmax_weights(0 * scores, mask); }

/// Adds up the vectors of a sentence's words (B, n, d) → (B, d).
Tensor sum_words(const Tensor& x, const ValidLengths& lengths) {
  return sum(zero_masked(lengths.mask(x.size(1)).reshape({x.size(0), x.size(1), 1}), x), {1});
}

}  // namespace

Layers::Layers(Parent parent, Size in, Size hidden, Size out)
    : Module(std::move(parent)),
      first{{*this, "first"}, in, hidden},
      second{{*this, "second"}, hidden, out} {}

Tensor Layers::operator()(const Tensor& x) const { return relu(second(relu(first(x)))); }

Entailer::Entailer(Model model_in, Sizes sizes)
    : Entailer(model_in, sizes, model_in == Model::bag_of_words ? Sizes{1, 1} : sizes) {}

Entailer::Entailer(Model model_in, Sizes sizes, Sizes compared)
    : words{{*this, "words"}, static_cast<Size>(vocabulary().size()), sizes.width},
      places{{*this, "places"}, kLongest, sizes.width},
      f{{*this, "f"}, compared.width, compared.hidden, compared.hidden},
      g{{*this, "g"}, 2 * compared.width, compared.hidden, compared.hidden},
      h{{*this, "h"},
        2 * (model_in == Model::bag_of_words ? sizes.width : sizes.hidden),
        sizes.hidden,
        sizes.hidden},
      out{{*this, "out"}, sizes.hidden, kAnswers},
      align{{*this, "align"},
            dot(),
            {.normalise = model_in == Model::equal ? Normaliser(equal_weights) : softmax_weights}},
      model(model_in) {
  if (model == Model::no_positions) places.freeze();  // unused parameters
  if (model == Model::bag_of_words) f.freeze(), g.freeze();
}

Tensor Entailer::read(const Indices& sentence) const {
  const Tensor alone = words(sentence);
  return model == Model::no_positions ? alone : alone + slice(places.weight, 0, 0, alone.size(1));
}

Tensor Entailer::operator()(const Batch& batch) const {
  const Tensor a = read(batch.premise), b = read(batch.hypothesis);
  const auto add_up = [&](const Tensor& of_a, const Tensor& of_b) {
    return out(
        h(concat({sum_words(of_a, batch.premise_lengths), sum_words(of_b, batch.hypothesis_lengths)}, -1)));
  };
  if (model == Model::bag_of_words) return add_up(a, b);
  const Tensor of_a = f(a), of_b = f(b);
  const Tensor beta = align(of_a, of_b, b, batch.hypothesis_lengths).context;
  const Tensor alpha = align(of_b, of_a, a, batch.premise_lengths).context;
  return add_up(g(concat({a, beta}, -1)), g(concat({b, alpha}, -1)));
}

}  // namespace tapestry::lesson32
