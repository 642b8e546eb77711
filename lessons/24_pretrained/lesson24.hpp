// Declarations that the files of lesson 24 share.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/io/safetensors.hpp"
#include "lessons/24_pretrained/embed_file.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/translation/grammar.hpp"
#include "nn/text/word_piece.hpp"
#include "nn/transformer/encoder.hpp"

namespace tapestry::lesson24 {

namespace fs = std::filesystem;

/// The sizes in config.json.
struct Sizes {
  Size vocabulary = 0, width = 0, layers = 0, heads = 0, hidden = 0, max_positions = 0, segments = 2;
  double epsilon = 1e-12;
};

// lesson.cpp

/// Returns a parameter's name in the published file: "stack.blocks.3.self.output.bias" →
/// "encoder.layer.3.attention.output.dense.bias".
std::string published_name(std::string name);
/// Returns the options of a BERT of these sizes.
TransformerOptions bert_options(const Sizes& sizes);

// reader.cpp

/// Options of read_model(): a function that maps our names to the file's, and one that makes options from sizes.
struct ReadOptions {
  std::function<std::string(std::string)> name = published_name;
  std::function<TransformerOptions(const Sizes&)> make = bert_options;
};

/// A model that maps a sentence to a vector.
struct Reader {
  WordPiece pieces;
  std::unique_ptr<TransformerEncoder> encoder;
  std::string summary = {};  // describes what was read
};
/// Reads model.safetensors, vocab.txt and the two .json files. Throws UsageError or Error, with the path, if
/// a file is missing or invalid, or lacks a tensor with a requested name or shape.
Reader read_model(const fs::path& folder, const ReadOptions& options = {});

/// Returns the vectors of all rows of ids, (B, width). Each is a unit vector.
Tensor embed(const TransformerEncoder& encoder, const std::vector<Ids>& rows);
/// Calls embed() in batches of 32 rows of similar length. Returns (rows, width) in the order of the rows.
Tensor embed_all(const TransformerEncoder& encoder, const std::vector<Ids>& rows);
/// Implements --embed-file: embeds the lines of a file.
void embed_lines(const fs::path& folder, const kit::FileToEmbed& file);

// files.cpp: reads config.json and sentence_bert_config.json of a folder, and the reference. A missing or
// invalid file throws UsageError or Error with the path.

Sizes read_sizes(const fs::path& folder);
/// Returns the largest number of ids in a text.
Size read_longest(const fs::path& folder);
void write_sizes(const fs::path& folder, const Sizes& sizes, Size longest);
/// Returns the texts whose vectors the reference contains.
std::vector<std::string> sentences_in(const SafeTensors& reference, const fs::path& file);

// texts.cpp

struct PairsOfTexts {
  std::vector<std::string> english, french;
};
PairsOfTexts texts_of(const std::vector<kit::GrammarSentence>& sentences);
std::vector<Ids> encode_all(const WordPiece& pieces, const std::vector<std::string>& texts);
/// Returns texts to compare. For the published model: pairs with nearly the same meaning, and one more text.
/// For the small model: English sentences and their translations.
std::vector<std::string> shown_texts(bool published, std::uint64_t seed);

// small_model.cpp

/// Trains a small model, and writes its files to `folder` in the format of a published model.
std::unique_ptr<TransformerEncoder> train_small(const kit::Options& options, const fs::path& folder);

// experiment.cpp

/// Prints the pieces of a few words, and compares them with nn/'s WordPiece.
void compare_pieces(const std::function<Words(const std::string&, const std::set<std::string>&)>& by_hand,
                    kit::Report& report);
/// Runs gradcheck on the function (states, lengths) → one vector per text, and compares it with nn/'s
/// mean_over_time.
void check_pooling(const std::function<Tensor(const Tensor&, const ValidLengths&)>& by_hand,
                   std::uint64_t seed, kit::Report& report);

/// A published model's folder, and a file with the vectors that its author's program returns for some sentences.
struct ReferenceModel {
  fs::path folder, reference;
};

/// Returns the tiny model of this lesson, in any working directory.
ReferenceModel tiny_model();
/// Returns the file with the vectors of all-MiniLM-L6-v2.
fs::path published_reference();

/// Compares ids with the reference, and vectors up to a difference of `allowed`.
void check_against_reference(const ReferenceModel& reference, double allowed, const kit::Options& options,
                             kit::Report& report);

/// Reads the same file with one mistake at a time: query and key exchanged, the two norms of a block
/// exchanged, ReLU in place of GELU. Checks that each mistake changes a number by at least 1e-2, and that a
/// name that the file lacks is refused. Returns the largest difference of a vector's norm from 1.
double read_with_mistakes(const ReferenceModel& reference, kit::Report& report);

/// Checks that the small model, read from its files, returns the same bits. Returns the percentage of new
/// English sentences whose nearest French sentence is the translation.
double check_small_model(const TransformerEncoder& trained, const Reader& reader, const kit::Options& options,
                         kit::Report& report);

/// Compares texts embedded alone and in a batch. Draws their cosines (nearness.svg), and the head that puts
/// the most weight on one word that is not a neighbour (head.svg).
void show_similarities(const Reader& reader, bool published, const kit::Options& options,
                       kit::Report& report);

}  // namespace tapestry::lesson24
