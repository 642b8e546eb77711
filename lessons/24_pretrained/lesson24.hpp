// What lesson 24's files share.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/io/safetensors.hpp"
#include "lessons/kit/program/options.hpp"
#include "lessons/kit/translation/grammar.hpp"
#include "nn/text/word_piece.hpp"
#include "nn/transformer/encoder.hpp"

namespace lesson24 {

namespace fs = std::filesystem;

/// The sizes that config.json has.
struct Sizes {
  tapestry::Size vocabulary = 0, width = 0, layers = 0, heads = 0, hidden = 0, places = 0, segments = 2;
  double epsilon = 1e-12;
};

// lesson.cpp

/// "stack.blocks.3.self.output.bias" → "encoder.layer.3.attention.output.dense.bias"
std::string their_name(std::string name);
/// A BERT of these sizes.
tapestry::TransformerOptions make_of(const Sizes& sizes);
/// Vectors of all rows of ids, (B, width), each of length 1.
tapestry::Tensor embed(const tapestry::TransformerEncoder& encoder, const std::vector<tapestry::Ids>& rows);

// files.cpp: config.json and sentence_bert_config.json of a folder, and the reference. What is missing or is
// no such file throws UsageError or Error with the path.

Sizes read_sizes(const fs::path& folder);
/// Ids of one text at most.
tapestry::Size read_longest(const fs::path& folder);
void write_sizes(const fs::path& folder, const Sizes& sizes, tapestry::Size longest);
/// The texts that a reference is about.
std::vector<std::string> sentences_in(const tapestry::SafeTensors& reference, const fs::path& file);

// texts.cpp

struct PairsOfTexts {
  std::vector<std::string> english, french;
};
PairsOfTexts texts_of(const std::vector<tapestry::kit::GrammarSentence>& sentences);
std::vector<tapestry::Ids> encode_all(const tapestry::WordPiece& pieces,
                                      const std::vector<std::string>& texts);
/// embed() in batches of 32 rows of similar length; (rows, width) in the order of the rows.
tapestry::Tensor embed_all(const tapestry::TransformerEncoder& encoder,
                           const std::vector<tapestry::Ids>& rows);

// small_model.cpp

/// Trains a small model, and writes its files into `folder`, as others would.
std::unique_ptr<tapestry::TransformerEncoder> train_small(const tapestry::kit::Options& options,
                                                          const fs::path& folder);

}  // namespace lesson24
