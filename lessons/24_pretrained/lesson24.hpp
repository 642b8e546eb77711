// What lesson.cpp and small_model.cpp share.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lessons/kit/grammar.hpp"
#include "lessons/kit/options.hpp"
#include "nn/text/word_piece.hpp"
#include "nn/transformer/encoder.hpp"

namespace lesson24 {

/// The sizes that config.json has.
struct Sizes {
  tapestry::Size vocabulary = 0, width = 0, layers = 0, heads = 0, hidden = 0, places = 0, segments = 2;
  double epsilon = 1e-12;
};

/// A BERT of these sizes.
tapestry::TransformerOptions make_of(const Sizes& sizes);

/// "stack.blocks.3.self.output.bias" → "encoder.layer.3.attention.output.dense.bias"
std::string their_name(std::string name);

/// Vectors of all rows of ids, (B, width), each of length 1.
tapestry::Tensor embed(const tapestry::TransformerEncoder& encoder, const std::vector<tapestry::Ids>& rows);

struct PairsOfTexts {
  std::vector<std::string> english, french;
};
PairsOfTexts texts_of(const std::vector<tapestry::kit::GrammarSentence>& sentences);
std::vector<tapestry::Ids> encode_all(const tapestry::WordPiece& pieces,
                                      const std::vector<std::string>& texts);

/// Trains a small model, and writes its files into `folder`, as others would.
std::unique_ptr<tapestry::TransformerEncoder> train_small(const tapestry::kit::Options& options,
                                                          const std::filesystem::path& folder);

}  // namespace lesson24
