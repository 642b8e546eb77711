#include "nn/transformer/encoder.hpp"

#include <algorithm>

#include "core/ops/arithmetic.hpp"
#include "core/ops/reduce.hpp"
#include "core/tensor/create.hpp"
#include "nn/attention/masking.hpp"

namespace tapestry {

TransformerEncoder::TransformerEncoder(Parent parent, const TransformerOptions& options)
    : Module(std::move(parent)),
      input{{*this, "input"}, options},
      stack{{*this, "stack"}, options.layers, options.block, BlockKind{.positions = options.positions}} {}

Tensor TransformerEncoder::operator()(const Indices& ids, const ValidLengths& lengths,
                                      const Indices& segments) const {
  const Tensor x = input(ids, 0, segments);
  if (!lengths.defined()) return stack(x);
  if (lengths.shape() != Dims{ids.shape()[0]})
    fail("[encoder{}] lengths must be one for each row, got ids {} and lengths {}", in_quotes(),
         to_string(ids.shape()), to_string(lengths.shape()));
  const Mask valid = lengths.mask(ids.shape()[1]);
  return zero_masked(valid.reshape({ids.shape()[0], ids.shape()[1], 1}), stack(x, valid));
}

Encoded TransformerEncoder::encode(const Indices& ids, const ValidLengths& lengths) const {
  const Tensor states = (*this)(ids, lengths);
  return {states, {RecurrentState(mean_over_time(states, lengths))}, lengths};
}

Tensor mean_over_time(const Tensor& states, const ValidLengths& lengths) {
  if (!lengths.defined()) return mean(states, {1});
  std::vector<double> shares;
  for (Size row = 0; row < states.size(0); ++row)
    shares.push_back(1 / static_cast<double>(std::max<Size>(1, lengths[row])));
  return sum(states, {1}) * tensor(shares, {states.size(0), 1}, states.dtype());
}

}  // namespace tapestry
