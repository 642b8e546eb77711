// A captioner: patches, a gate for each channel, and a decoder that attends to places (Xu and others 2015).
#include "lessons/33_vision/captioner.hpp"

#include "core/ops/ops.hpp"
#include "core/tensor/create.hpp"
#include "nn/seq2seq/translator.hpp"

namespace tapestry::lesson33 {
namespace {

Tensor equal_weights(const Tensor& scores, const Mask& mask) { return softmax_weights(0 * scores, mask); }

DecoderOptions decoder_options(CaptionerParts parts, Widths widths) {
  DecoderOptions options{.vocabulary = static_cast<Size>(vocabulary().size()),
                         .embedding = 16,
                         .hidden = widths.hidden,
                         .attention = widths.hidden,
                         .readout = widths.hidden};
  if (!parts.places) options.attend.normalise = equal_weights;
  return options;
}

}  // namespace

Captioner::Captioner(CaptionerParts parts_in, Widths widths)
    : patch{{*this, "patch"}, kNumbers, widths.features, Bias::yes, kaiming},
      places{*this, "places", {kPlaces, widths.features}, normal(0.5)},
      channels{{*this, "channels"}, widths.features, widths.gate},
      decoder{{*this, "decoder"},
              EncodedWidths{widths.features, widths.features},
              decoder_options(parts_in, widths)},
      parts(parts_in) {
  if (!parts.channels) channels.freeze();  // unused parameters
}

Encoded Captioner::read(const Tensor& pictures) const {
  const Size batch = pictures.size(0);
  const Tensor x = relu(patch(reshape(patches(pictures, kPatch), {batch, kPlaces, kNumbers})));
  const Tensor states = (parts.channels ? channels(x) : x) + places;
  const Tensor first =
      parts.mean ? mean(states, {1}) : zeros({batch, patch.weight.size(0)}, pictures.dtype());
  return {states, {RecurrentState(first)}, {}};
}

Tensor Captioner::attend(const Tensor& pictures, const Tensor& s) const {
  return squeeze(decoder.attention(unsqueeze(s, 1), decoder.prepare(read(pictures))).context, 1);
}

std::vector<Decoded> Captioner::write(const Tensor& pictures) const { return write_from(read(pictures)); }

std::vector<Decoded> Captioner::write(const Tensor& pictures, const std::vector<Size>& covered) const {
  // Each place has its position vector, so the places may come in any order. So the covered places go last
  // and count as padding.
  Encoded source = read(pictures);
  std::vector<Size> rows;
  for (std::size_t row = 0; row < covered.size(); ++row)
    for (Size place = 0; place < kPlaces; ++place) {
      const Size other = place == covered[row] ? kPlaces - 1 : place == kPlaces - 1 ? covered[row] : place;
      rows.push_back(static_cast<Size>(row) * kPlaces + other);
    }
  const Dims shape = source.states.shape();
  source.states = embedding(reshape(source.states, {-1, shape[2]}), Indices(rows, {shape[0], kPlaces}));
  source.lengths = ValidLengths(std::vector<Size>(covered.size(), kPlaces - 1));
  return write_from(source);
}

std::vector<Decoded> Captioner::write_from(const Encoded& source) const {
  return greedy(*detail::begin_search(*this, decoder, source),
                {.begin = kBegin, .end = kEnd, .max_length = kLongest});
}

const AdditiveScore& Captioner::score() const {
  return dynamic_cast<const AdditiveScore&>(decoder.attention.score());
}

std::vector<Tensor> Captioner::attention_parameters() const {
  std::vector<Tensor> all = decoder.attention.parameters();
  for (const Tensor& weight : patch.parameters()) all.push_back(weight);
  for (const Tensor& weight : channels.parameters()) all.push_back(weight);
  all.push_back(places);
  return all;
}

}  // namespace tapestry::lesson33
