// A small model with the same architecture, for runs without --weights.
//
// How can we train vectors of sentences? We train them for their use, finding a sentence by similarity. A
// batch contains 32 English sentences a_i and their French translations b_i. By the cosine alone, each a_i
// has to find its b_i among all 32 translations, and each b_i has to find its a_i (Reimers & Gurevych 2019;
// the published model was trained on a billion pairs of texts). The loss is the cross-entropy of lesson 3,
// with the right answers on the diagonal:
//
//     logits_ij = 20 cos(a_i, b_j)

#include <algorithm>
#include <numeric>
#include <set>

#include "core/core.hpp"
#include "core/io/safetensors.hpp"
#include "lessons/24_pretrained/lesson24.hpp"
#include "lessons/kit/train/loop.hpp"
#include "lessons/kit/translation/grammar_corpus.hpp"
#include "nn/loss.hpp"
#include "nn/text/byte_pairs.hpp"
#include "nn/text/lines.hpp"

namespace tapestry::lesson24 {
using kit::GrammarSentence, kit::GrammarSplit, kit::Random;

namespace {

constexpr Size kPairs = 32;
constexpr double kSharpness = 20;

/// Makes pieces with byte-pair encoding (Sennrich et al. 2016). Pieces inside a word get the prefix ##.
std::string learn_pieces(const std::vector<Words>& sentences) {
  const BytePairs pairs = BytePairs::learn(
      sentences, {.merges = 300, .at_least = 2, .marked = MarkedPiece::first, .marker = "\x01"});
  std::set<std::string> pieces;
  const auto add = [&](const std::string& piece) {
    pieces.insert(piece[0] == '\x01' ? piece.substr(1) : "##" + piece);
  };
  for (const Words& sentence : sentences)
    for (const std::string& word : sentence)
      for (const std::string& character : marked_characters(word, MarkedPiece::first, "\x01")) add(character);
  for (const BytePairs::Merge& merge : pairs.merges()) add(merge.left + merge.right);
  std::string lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (const std::string& piece : pieces) lines += piece + '\n';
  return lines;
}

}  // namespace

std::unique_ptr<TransformerEncoder> train_small(const kit::Options& options, const fs::path& folder) {
  const auto sentences = kit::grammar_sentences(options.seed, 24, GrammarSplit::train, 10'000);
  std::vector<Words> both;
  for (const GrammarSentence& one : sentences) {
    both.push_back(one.source);
    both.push_back(one.target);
  }
  const std::string vocabulary = learn_pieces(both);
  constexpr Size kLongest = 64;
  const WordPiece pieces = WordPiece::from_text(vocabulary, "pieces", {.max_length = kLongest});
  const Sizes sizes{.vocabulary = pieces.size(),
                    .width = 64,
                    .layers = 2,
                    .heads = 4,
                    .hidden = 128,
                    .max_positions = kLongest};
  auto encoder = std::make_unique<TransformerEncoder>(bert_options(sizes));
  encoder->initialise(options.seed);
  const PairsOfTexts texts = texts_of(sentences);
  const std::vector<Ids> english = encode_all(pieces, texts.english),
                         french = encode_all(pieces, texts.french);
  Ids diagonal(static_cast<std::size_t>(kPairs));
  std::iota(diagonal.begin(), diagonal.end(), 0);
  const Indices answers(diagonal, {kPairs});
  kit::train(*encoder,
             {.name = "pairs",
              .steps = options.steps,
              .rate = 2e-3,
              .batch = kPairs,
              .unit = "pairs",
              .seed = options.seed},
             [&](Random random) {
               std::vector<Ids> a, b;
               for (Size i = 0; i < kPairs; ++i) {
                 const auto which = static_cast<std::size_t>(random.below(static_cast<Size>(english.size())));
                 a.push_back(english[which]);
                 b.push_back(french[which]);
               }
               const Tensor logits = kSharpness * matmul(embed(*encoder, a), transpose(embed(*encoder, b)));
               return cross_entropy(logits, answers) + cross_entropy(transpose(logits), answers);
             });
  encoder->eval();

  fs::create_directories(folder);
  State weights;
  for (const auto& [name, weight] : encoder->state()) weights.emplace(published_name(name), weight);
  write_safetensors(folder / "model.safetensors", weights);
  write_text(folder / "vocab.txt", vocabulary);
  write_sizes(folder, sizes, kLongest);
  return encoder;
}

}  // namespace tapestry::lesson24
