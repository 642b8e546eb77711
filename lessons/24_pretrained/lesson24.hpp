// What lesson 24's files share.
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

/// The sizes that config.json has.
struct Sizes {
  Size vocabulary = 0, width = 0, layers = 0, heads = 0, hidden = 0, places = 0, segments = 2;
  double epsilon = 1e-12;
};

// lesson.cpp

/// "stack.blocks.3.self.output.bias" → "encoder.layer.3.attention.output.dense.bias"
std::string their_name(std::string name);
/// A BERT of these sizes.
TransformerOptions make_of(const Sizes& sizes);

// reader.cpp

/// How a file is read: which name there a name here has, and which model is made of the sizes.
struct Reading {
  std::function<std::string(std::string)> name = their_name;
  std::function<TransformerOptions(const Sizes&)> make = make_of;
};

/// What a sentence needs to become a vector.
struct Reader {
  WordPiece pieces;
  std::unique_ptr<TransformerEncoder> encoder;
  std::string summary = {};  // of what was read
};
/// Reads model.safetensors, vocab.txt and the two .json. Throws UsageError or Error, with the path, for what is
/// missing, is no such file, or has no tensor of a name or shape that is asked for.
Reader read_model(const fs::path& folder, const Reading& reading = {});

/// Vectors of all rows of ids, (B, width), each of length 1.
Tensor embed(const TransformerEncoder& encoder, const std::vector<Ids>& rows);
/// embed() in batches of 32 rows of similar length; (rows, width) in the order of the rows.
Tensor embed_all(const TransformerEncoder& encoder, const std::vector<Ids>& rows);
/// --embed-file: vectors of a file's lines.
void embed_yours(const fs::path& folder, const kit::FileToEmbed& file);

// files.cpp: config.json and sentence_bert_config.json of a folder, and the reference. What is missing or is
// no such file throws UsageError or Error with the path.

Sizes read_sizes(const fs::path& folder);
/// Ids of one text at most.
Size read_longest(const fs::path& folder);
void write_sizes(const fs::path& folder, const Sizes& sizes, Size longest);
/// The texts that a reference is about.
std::vector<std::string> sentences_in(const SafeTensors& reference, const fs::path& file);

// texts.cpp

struct PairsOfTexts {
  std::vector<std::string> english, french;
};
PairsOfTexts texts_of(const std::vector<kit::GrammarSentence>& sentences);
std::vector<Ids> encode_all(const WordPiece& pieces, const std::vector<std::string>& texts);
/// Some to compare with each other: of the published model as pairs that mean nearly the same, and one more;
/// the small model's as English ones and their translations.
std::vector<std::string> shown_texts(bool published, std::uint64_t seed);

// small_model.cpp

/// Trains a small model, and writes its files into `folder`, as others would.
std::unique_ptr<TransformerEncoder> train_small(const kit::Options& options, const fs::path& folder);

// experiment.cpp

/// Cuts of a few words, printed, and compared with nn/'s WordPiece.
void compare_pieces(const std::function<Words(const std::string&, const std::set<std::string>&)>& by_hand,
                    kit::Report& report);
/// Gradcheck of (states, lengths) → one vector a text, and nn/'s mean_over_time beside it.
void check_pooling(const std::function<Tensor(const Tensor&, const ValidLengths&)>& by_hand,
                   std::uint64_t seed, kit::Report& report);

/// Somebody else's model, and what their program made of some sentences.
struct Theirs {
  fs::path folder, reference;
};

/// The one beside this lesson, tiny/, wherever the program was started; and the numbers of all-MiniLM-L6-v2.
Theirs tiny_model();
fs::path published_reference();

/// Ids, and vectors to `allowed`, against the reference.
void judge_theirs(const Theirs& theirs, double allowed, const kit::Options& options, kit::Report& report);

/// What becomes of the same file if it is read with a mistake: query and key exchanged, the two norms of a block
/// exchanged, ReLU for GELU. Each must be off by 1e-2 at least, and a name that the file lacks must be refused.
/// Returns how far the vectors' lengths are from 1 at most.
double read_with_mistakes(const Theirs& theirs, kit::Report& report);

/// Read back, the small model gives the very same vectors. Returns the share of new English sentences whose
/// nearest French one is the translation, in per cent.
double judge_small(const TransformerEncoder& trained, const Reader& reader, const kit::Options& options,
                   kit::Report& report);

/// Texts alone and side by side, their cosines (nearness.svg), and the head that looks hardest at single words
/// farther off (head.svg).
void look_around(const Reader& reader, bool published, const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson24
