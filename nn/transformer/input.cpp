#include "nn/transformer/input.hpp"

#include <cmath>

#include "core/ops/arithmetic.hpp"
#include "core/ops/views.hpp"

namespace tapestry {

namespace {

double root(Size width) { return std::sqrt(static_cast<double>(width)); }

}  // namespace

TransformerInput::TransformerInput(Parent parent, const TransformerOptions& options)
    : Module(std::move(parent)),
      words{{*this, "words"},
            options.vocabulary,
            options.block.width,
            options.padding,
            normal(1 / root(options.block.width))},
      positions(options.positions.input ? options.positions.input({*this, "positions"}, options.block.width)
                                        : ModulePtr<InputPositions>{}),
      dropout{{*this, "dropout"}, options.dropout},
      scale_(options.scale_words ? root(options.block.width) : 1) {
  if (options.segments > 0)
    segments.emplace(Parent{*this, "segments"}, options.segments, options.block.width, std::nullopt,
                     normal(1 / root(options.block.width)));
  if (options.input_norm)
    norm.emplace(Parent{*this, "norm"}, options.block.norm, options.block.width, options.block.epsilon);
}

Tensor TransformerInput::operator()(const Indices& ids, const TokenPositions& at, const Indices& segment_ids,
                                    CallSite caller) const {
  if (ids.rank() != 2)
    fail("[transformer{}] ids must be (batch, time), got {}", in_quotes(), to_string(ids.shape()));
  if (segment_ids.defined() && (!segments || segment_ids.shape() != ids.shape()))
    fail("[transformer{}] segment ids must have the shape of the ids, got {} and {} {}", in_quotes(),
         to_string(segment_ids.shape()), to_string(ids.shape()),
         segments ? "" : "in a model without segments; set TransformerOptions::segments");
  Tensor x = words(ids, caller);
  if (scale_ != 1) x = x * scale_;
  if (positions)
    x = at.apply(x, [this](const Tensor& part, Size first) { return (*positions)(part, first); });
  if (segments)
    x = x + (segment_ids.defined() ? (*segments)(segment_ids, caller) : select(segments->weight, 0, 0));
  return dropout(norm ? (*norm)(x) : x);
}

}  // namespace tapestry
