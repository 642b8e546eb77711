// The measurements and figures of lesson 24: a model compared with another program's numbers, with and
// without mistakes; the small model compared with itself; the similarity of sentences; the weights of heads.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/check/gradcheck.hpp"
#include "core/core.hpp"
#include "lessons/24_pretrained/lesson24.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/program/project_file.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "lessons/kit/translation/grammar_corpus.hpp"
#include "nn/attention/weight_recorder.hpp"

namespace tapestry::lesson24 {
namespace {

/// Says whether a piece is neither a special token nor punctuation.
bool is_word(const std::string& piece) {
  const auto first = static_cast<unsigned char>(piece[0]);
  return first >= 0x80 || std::isalnum(first) != 0 || piece.rfind("##", 0) == 0;
}

/// Returns the largest weight of a query on one word that is not itself or a neighbour, as a mean over the
/// queries of a head's weights (words, words).
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

struct Misread {
  double off = 0;     // the largest difference of a number from the reference
  double cosine = 1;  // the lowest cosine with the reference
  double length = 0;  // the largest difference of a vector's norm from 1
};

Misread misread(const ReferenceModel& reference, const ReadOptions& options) {
  const Reader reader = read_model(reference.folder, options);
  const SafeTensors golden = read_safetensors(reference.reference);
  const Tensor vectors =
      embed_all(*reader.encoder, encode_all(reader.pieces, sentences_in(golden, reference.reference)));
  const Tensor expected = golden.at("embeddings").to(vectors.dtype());
  const std::vector<double> cosines = sum(vectors * expected, {-1}).to_vector();
  return {kit::largest(vectors - expected), *std::min_element(cosines.begin(), cosines.end()),
          kit::largest(sqrt(sum(vectors * vectors, {-1})) - 1.0)};
}

/// Returns the name in the file for `name` if `a` and `b` are exchanged in the table.
std::string exchanged(std::string name, const std::string& a, const std::string& b) {
  const auto put = [&name](const std::string& from, const std::string& to) {
    const std::size_t at = name.find(from);
    if (at == name.npos) return false;
    name = name.substr(0, at) + to + name.substr(at + from.size());
    return true;
  };
  if (!put(a, b)) put(b, a);
  return published_name(name);
}

void check_padding(const Reader& reader, const std::vector<std::string>& texts, kit::Report& report) {
  const std::vector<Ids> rows = encode_all(reader.pieces, texts);
  const Tensor together = embed(*reader.encoder, rows);
  double apart = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    apart = std::max(apart, kit::largest(select(together, 0, static_cast<Size>(i)) -
                                         select(embed(*reader.encoder, {rows[i]}), 0, 0)));
  fmt::print("  embedded alone or with longer sentences: vectors differ by at most {:.0e}\n", apart);
  report.check("padding does not change the vectors, to 1e-6", apart < 1e-6);
}

void show_nearness(const Reader& reader, const std::vector<std::string>& texts, const kit::Options& options) {
  const Tensor vectors = embed(*reader.encoder, encode_all(reader.pieces, texts));
  kit::Heatmap map{.title = "Cosine between sentence vectors", .least = -1};
  map.columns = map.rows = texts;
  map.values = matmul(vectors, transpose(vectors)).to_vector();
  map.numbers = true;
  kit::show(map, options.out / "nearness.svg");
}

void show_head(const Reader& reader, const std::string& text, const kit::Options& options,
               kit::Report& report) {
  const Ids ids = reader.pieces.encode(text);
  const auto length = static_cast<Size>(ids.size());
  kit::Heatmap map{.title = {}, .column_axis = "keys", .row_axis = "queries"};
  for (const std::int64_t id : ids) map.columns.push_back(reader.pieces.piece(id));
  map.rows = map.columns;
  double best = -1, on_specials = 0, heads = 0;
  const auto& blocks = reader.encoder->stack.blocks;
  for (Size layer = 0; layer < blocks.size(); ++layer) {
    const WeightRecorder recorder(blocks[layer].self->attention);
    (*reader.encoder)(Indices(ids, {1, length}));
    const Tensor weights = select(recorder.weights().front(), 0, 0);  // (heads, words, words)
    for (Size head = 0; head < weights.size(0); ++head, ++heads) {
      const Tensor one = select(weights, 0, head), of_words = slice(one, 0, 1, length - 1);
      on_specials += mean(select(of_words, 1, 0) + select(of_words, 1, length - 1)).item();
      const double far = farther_off(one, map.rows);
      if (far <= best) continue;
      best = far;
      map.title = fmt::format("Attention weights of layer {}, head {}: rows are queries, columns are keys",
                              layer + 1, head + 1);
      map.values = one.to_vector();
    }
  }
  report.figure("weight of words on [CLS] and [SEP], mean of all heads", 100 * on_specials / heads, "%");
  report.figure("mean weight of the drawn head on one distant word", 100 * best, "%");
  kit::show(map, options.out / "head.svg");
}

}  // namespace

ReferenceModel tiny_model() {
  const fs::path folder = kit::project_file("lessons/24_pretrained/tiny");
  return {folder, folder / "reference.safetensors"};
}

fs::path published_reference() {
  return (kit::project_folder() / "tests/golden/data/minilm.safetensors").lexically_normal();
}

void compare_pieces(const std::function<Words(const std::string&, const std::set<std::string>&)>& by_hand,
                    kit::Report& report) {
  const WordPiece toy = WordPiece::from_text(
      "[PAD]\n[UNK]\n[CLS]\n[SEP]\ntoken\n##iza\n##ization\n##tion\nun\n##believ\n##able\ncafe\n!\n"
      "北\n京\nre\n##s\nab\na\n##bc\n",
      "toy");
  std::set<std::string> known;
  for (std::int64_t id = 0; id < toy.size(); ++id) known.insert(toy.piece(id));
  bool same = true;
  for (const char* word : {"tokenization", "unbelievable", "tokens", "untoken", "abc", "cafe"}) {
    const Words pieces = by_hand(word, known);
    Ids ids;
    for (const std::string& piece : pieces) ids.push_back(toy.id(piece).value());
    same = same && ids == toy.pieces_of(word);
    fmt::print("  {:<13} {}\n", word, join_words(pieces));
  }
  report.check("pieces by hand equal nn/'s", same);
  Words shown;
  for (const std::int64_t id : toy.encode("CAFÉ! Tokens, 北京")) shown.push_back(toy.piece(id));
  fmt::print("  {:<13} {}\n", "CAFÉ! Tokens, 北京", join_words(shown));
  report.check("capitals, accents and Chinese are handled as in BERT",
               join_words(shown) == "[CLS] cafe ! token ##s [UNK] 北 京 [SEP]");
}

void check_pooling(const std::function<Tensor(const Tensor&, const ValidLengths&)>& by_hand,
                   std::uint64_t seed, kit::Report& report) {
  const Tensor states = variable(random_normal({3, 4, 5}, seed, DType::f64), "states");
  const ValidLengths lengths = {4, 2, 1};
  const GradcheckResult found = gradcheck([&](const Tensor& x) { return by_hand(x, lengths); }, states);
  if (!found.ok()) fmt::print("{}\n", found.report());
  report.check("gradcheck of the pooling, in f64", found.ok());
  // mean_over_time() requires zeros in padding, as in an encoder's states.
  const Tensor cleared = where(lengths.mask(4).reshape({3, 4, 1}), states, scalar(0, DType::f64));
  const Tensor means = mean_over_time(cleared, lengths);
  report.check(
      "the pooling equals nn/'s mean_over_time, to 1e-12",
      kit::farthest({by_hand(states, lengths)}, {means / sqrt(sum(means * means, {-1}, Keep::yes))}) < 1e-12);
}

void check_against_reference(const ReferenceModel& reference, double allowed, const kit::Options& options,
                             kit::Report& report) {
  const Reader reader = read_model(reference.folder);
  fmt::print("{}", reader.summary);
  const SafeTensors golden = read_safetensors(reference.reference);
  const std::vector<Ids> rows = encode_all(reader.pieces, sentences_in(golden, reference.reference));
  Ids ids, lengths;
  for (const Ids& row : rows) {
    ids.insert(ids.end(), row.begin(), row.end());
    lengths.push_back(static_cast<std::int64_t>(row.size()));
  }
  report.check(
      fmt::format("all {} ids of {} sentences equal the reference's", ids.size(), rows.size()),
      ids == golden.indices_at("ids").to_vector() && lengths == golden.indices_at("lengths").to_vector());

  Tensor vectors;
  double best = 0;
  const int rounds = options.smoke ? 1 : 3;
  for (int round = 0; round < rounds; ++round) {
    const double seconds = kit::seconds([&] { vectors = embed_all(*reader.encoder, rows); });
    best = std::max(best, static_cast<double>(rows.size()) / seconds);
  }
  const Tensor expected = golden.at("embeddings").to(vectors.dtype());  // (sentences, width)
  const std::vector<double> cosines = sum(vectors * expected, {-1}).to_vector();
  report.figure("lowest cosine with the reference", *std::min_element(cosines.begin(), cosines.end()));
  report.at_most("largest difference of any number", kit::largest(vectors - expected), allowed);
  fmt::print(stderr, "  {:.1f} sentences per second, best of {}\n", best, rounds);
}

double read_with_mistakes(const ReferenceModel& reference, kit::Report& report) {
  const ReadOptions query_key{
      [](std::string name) { return exchanged(std::move(name), ".query.", ".key."); }},
      norms{
          [](std::string name) { return exchanged(std::move(name), ".self_norm.", ".feed_forward_norm."); }},
      relu{published_name, [](const Sizes&sizes) {
             TransformerOptions options = bert_options(sizes);
             options.block.activation = Activation::relu;
             return options;
           }};
  double length = 0;
  for (const auto& [what, reading] :
       {std::pair<const char*, const ReadOptions*>{"query and key exchanged", &query_key},
        {"two norms of a block exchanged", &norms},
        {"ReLU in place of GELU", &relu}}) {
    const Misread found = misread(reference, *reading);
    length = std::max(length, found.length);
    report.at_least(fmt::format("{}: largest difference", what), found.off, 1e-2);
    report.figure("  lowest cosine with the right vector", found.cosine);
  }
  const ReadOptions misspelt{[](std::string name) { return published_name(std::move(name)).append("s"); }};
  bool refused = false;
  try {
    read_model(reference.folder, misspelt);
  } catch (const Error&) {
    refused = true;
  }
  report.check("a name that the file lacks is refused", refused);
  return length;
}

double check_small_model(const TransformerEncoder& trained, const Reader& reader, const kit::Options& options,
                         kit::Report& report) {
  const PairsOfTexts texts = texts_of(
      kit::grammar_sentences(options.seed, 25, kit::GrammarSplit::held_out, options.smoke ? 50 : 500));
  const std::vector<Ids> rows = encode_all(reader.pieces, texts.english);
  const Tensor english = embed_all(*reader.encoder, rows),
               french = embed_all(*reader.encoder, encode_all(reader.pieces, texts.french));
  report.check("the model read from its files returns the same bits",
               english.to_vector() == embed_all(trained, rows).to_vector());
  const Ids nearest = argmax(matmul(english, transpose(french))).to_vector();
  double right = 0;  // two English sentences may have the same translation, so compare the texts
  for (std::size_t i = 0; i < nearest.size(); ++i)
    right += texts.french[static_cast<std::size_t>(nearest[i])] == texts.french[i];
  return 100 * right / static_cast<double>(nearest.size());
}

void show_similarities(const Reader& reader, bool published, const kit::Options& options,
                       kit::Report& report) {
  const std::vector<std::string> texts = shown_texts(published, options.seed);
  check_padding(reader, texts, report);
  show_nearness(reader, texts, options);
  show_head(reader,
            published ? "The animal didn't cross the street because it was too tired."
                      : join_words(kit::grammar_showcase().source),
            options, report);
}

}  // namespace tapestry::lesson24
