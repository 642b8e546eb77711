// 12 luong: many scores, one decoder
//
// Bahdanau's decoder (lesson 11) looks first and steps then, and it scores with a small network. Luong, Pham
// and Manning (2015) asked whether either matters. They turned the order round, so that the new state does
// the asking, and they tried several scores in the same place. This lesson does both, and gives the scores a
// task where a question can only be answered by what stands in the source.
//
// You will: 1 build one step of Luong's decoder and five scores from plain ops, and check them; 2 train one
// decoder with each score to look things up; 3 see where each looked; 4 feed back what was read, and see what
// that is good for; 5 change the score of a model in one line, and learn when one line is enough.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

#include "core/core.hpp"
#include "lessons/12_luong/lookups.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/text/vocabulary.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/seq2seq/seq2seq.hpp"

using namespace tapestry;
using kit::Ids;
using kit::largest, kit::gradients, kit::weights_of;
using kit::Lookups;

namespace {

// ---- 1. Five scores, and the step around them -------------------------------------------------------------
//
// A score says how well key k_j answers query q. Everything else about an attention (mask, softmax, weighted
// sum) stays as it was in lesson 11, so a score is all there is to change:
//
//     dot               q · k_j                     no weights; q and k equally wide
//     general           q · W k_j                   W (d_q, d_k) brings two widths together
//     concat            v · tanh(W [q; k_j])        W (U, d_q + d_k), v (U)
//     location          (W q)_j                     W (T_max, d_q): a row for each place in the source
//     fully connected   (W [e; q])_j                the same, and the word before, e, may speak too
//
// The first three look at the content of the source. The last two never see a key. They turn what the decoder
// knows into a place, "look at the fifth". The fourth is from Luong's paper; the last is in many a tutorial.
// Below, q is (B, Tq, d_q) and k (B, Tk, d_k); scores are (B, Tq, Tk).

enum class Kind { dot, general, concat, location, fully_connected };

Tensor dot_by_hand(const Tensor& q, const Tensor& k) { return matmul(q, transpose(k)); }

Tensor general_by_hand(const Tensor& q, const Tensor& k, const Tensor& w) {
  return matmul(matmul(q, w), transpose(k));
}

/// Written as the paper has it, with every query beside every key. W [q; k] = W_q q + W_k k, W's left and
/// right part, so concat *is* lesson 11's additive score, with its two matrices in one.
Tensor concat_by_hand(const Tensor& q, const Tensor& k, const Tensor& w, const Tensor& v) {
  const Size batch = q.size(0), queries = q.size(1), keys = k.size(1);
  const Tensor all_q = expand(unsqueeze(q, 2), {batch, queries, keys, q.size(2)});
  const Tensor all_k = expand(unsqueeze(k, 1), {batch, queries, keys, k.size(2)});
  return sum(tanh(matmul(concat({all_q, all_k}, -1), transpose(w))) * v, {-1});
}

/// A source shorter than T_max uses the first rows of W.
Tensor location_by_hand(const Tensor& q, Size places, const Tensor& w) {
  return matmul(q, transpose(slice(w, 0, 0, places)));
}

Tensor fully_connected_by_hand(const Tensor& e, const Tensor& q, Size places, const Tensor& w) {
  return location_by_hand(concat({e, q}, -1), places, w);
}

// nn/ has them all. The functions general(…), concat_score(…) … say which score a model is to make for itself
// (a ScoreMaker); by_hand takes the weights out of the score that was made, so that both versions use the
// same.

struct Sizes {
  Size embedding, query, key, units, longest;
};

ScoreMaker make_score(Kind kind, const Sizes& sizes) {
  if (kind == Kind::general) return general(sizes.query, sizes.key);
  if (kind == Kind::concat) return concat_score(sizes.query, sizes.key, sizes.units);
  if (kind == Kind::location) return location(sizes.query, sizes.longest);
  if (kind == Kind::fully_connected) return fully_connected(sizes.embedding, sizes.query, sizes.longest);
  return dot();
}

Tensor by_hand(const Score& score, const Tensor& e, const Tensor& q, const Tensor& k) {
  if (const auto* s = dynamic_cast<const GeneralScore*>(&score)) return general_by_hand(q, k, s->weight);
  if (const auto* s = dynamic_cast<const ConcatScore*>(&score))
    return concat_by_hand(q, k, s->weight, s->vector);
  if (const auto* s = dynamic_cast<const LocationScore*>(&score))
    return location_by_hand(q, k.size(1), s->weight);
  if (const auto* s = dynamic_cast<const FullyConnectedScore*>(&score))
    return fully_connected_by_hand(e, q, k.size(1), s->weight);
  return dot_by_hand(q, k);
}

// Luong's order is *step, then attend*. The cell is lesson 9's GRU; h̄_j are the encoder's states, keys and
// values at once, and e_t embeds the word that goes in:
//
//     h_t = GRU([e_t; h̃_{t−1}], h_{t−1})          step
//     c_t = attend(q = h_t, h̄)                    then attend
//     h̃_t = tanh(W_c [c_t; h_t])                  the attention vector: what was read, and what was known
//     logits = W_s h̃_t + b
//
// h̃_{t−1} goes into the cell beside the word. That is *input feeding*, and it can be left out; section 4.

struct Written {
  Tensor logits;   // (B, V)
  Tensor weights;  // (B, Tk)
};

/// `fed` is h̃_{t−1} and `before` h_{t−1}, (B, …); `source` is h, (B, Tk, d_k).
Written step_by_hand(const LuongDecoder& decoder, const Indices& words, const Tensor& fed,
                     const Tensor& before, const Tensor& source, const ValidLengths& lengths) {
  const Tensor e = embedding(decoder.embedding.weight, words);
  const Tensor h = decoder.cell(concat({e, fed}, -1), before).hidden;
  const Tensor scores = by_hand(decoder.attention.score(), unsqueeze(e, 1), unsqueeze(h, 1), source);
  const Tensor weights = masked_softmax(scores, lengths.mask(source.size(1)));  // (B, 1, Tk)
  const Tensor context = squeeze(matmul(weights, source), 1);
  const Tensor vector = tanh(matmul(concat({context, h}, -1), transpose(decoder.combine.weight)));
  return {matmul(vector, transpose(decoder.output.weight)) + decoder.output.bias, squeeze(weights, 1)};
}

void check_step(const char* name, Kind kind, std::uint64_t seed, kit::Report& report) {
  constexpr DType f64 = DType::f64;
  const Sizes sizes{.embedding = 3, .query = kind == Kind::dot ? 6 : 4, .key = 6, .units = 7, .longest = 8};
  const EncodedWidths encoder{.states = sizes.key, .final = 3};  // of 3 units in each direction
  LuongDecoder decoder(encoder, {.vocabulary = 9,
                                 .embedding = sizes.embedding,
                                 .hidden = sizes.query,
                                 .readout = 5,
                                 .score = make_score(kind, sizes),
                                 .word_in_query = kind == Kind::fully_connected});
  decoder.initialise(seed, f64);
  const Indices words = {4, 7};
  const Tensor fed = variable(random_normal({2, 5}, seed, f64), "fed"),
               before = variable(random_normal({2, sizes.query}, seed + 1, f64), "h"),
               source = variable(random_normal({2, 5, 6}, seed + 2, f64), "source");
  const ValidLengths lengths = {5, 3};  // the second source is shorter: two states are padding

  std::vector<Tensor> leaves;
  for (const Tensor& leaf : decoder.parameters())  // `initial` makes h₀, which is before this step
    if (leaf.name().rfind("initial", 0) != 0) leaves.push_back(leaf);
  const GradcheckResult check = gradcheck(
      [&](const Tensor& fed_in, const Tensor& before_in, const Tensor& source_in) {
        return step_by_hand(decoder, words, fed_in, before_in, source_in, lengths).logits;
      },
      {fed, before, source}, leaves, GradcheckOptions{.seed = seed});
  if (!check.ok()) fmt::print("{}", check.report());

  const Written ours = step_by_hand(decoder, words, fed, before, source, lengths);
  const auto library = [&] {
    DecoderState state{.recurrent = before, .fed = fed, .attention = {}};
    return decoder.step(words, state, decoder.prepare({.states = source, .final = {}, .lengths = lengths}));
  };
  const StepModel::Step theirs = library();
  leaves.insert(leaves.end(), {fed, before, source});
  const std::vector<Tensor> a = gradients(
      [&] { return step_by_hand(decoder, words, fed, before, source, lengths).logits; }, leaves, seed + 3);
  const std::vector<Tensor> b = gradients([&] { return library().logits; }, leaves, seed + 3);
  const double apart = std::max(
      {largest(ours.logits - theirs.logits), largest(ours.weights - theirs.alignment), kit::farthest(a, b)});
  report.check(
      fmt::format("{:<15}  gradcheck, {:3} derivatives; nn/ gives the same to 1e-12", name, check.compared),
      check.ok() && apart < 1e-12);
}

// ---- 2. One decoder, five scores --------------------------------------------------------------------------
//
// The task is to look up. The source is a list of pairs, a letter and its digit; then the letters come once
// more, in any order, and for each the decoder writes its digit:
//
//     source  k 3 c 0 p 7        questions  p k c        answers  7 3 0
//
// Which letter has which digit is new in every string, so there is nothing to learn by heart. All of it has
// to be read, and *where* depends on what stands there. Training shows 2 to 8 pairs; we test up to 16. The
// word that goes in is the question, not the answer before: free decoding and teacher forcing are one here.

// Encoder: 32 units in each direction, so h_j has 64 numbers. Decoder: 64 units, so that dot can be one of
// the five. Each digit's h_j has read its letter on the way, and can answer for both.

constexpr Size kEmbedding = 32, kHidden = 64, kMostPairs = 16;
constexpr auto kVocabulary = kit::kLookupVocabulary;

enum class Feeding { no, yes };

TranslatorOptions model_options(Kind kind, Feeding feeding) {
  const Sizes sizes{kEmbedding, kHidden, kHidden, kHidden, 2 * kMostPairs};
  return {{.vocabulary = kVocabulary, .embedding = kEmbedding, .hidden = kHidden / 2},
          {.vocabulary = kVocabulary,
           .embedding = kEmbedding,
           .hidden = kHidden,
           .readout = kHidden,
           .score = make_score(kind, sizes),
           .input_feeding = feeding == Feeding::yes,
           .word_in_query = kind == Kind::fully_connected}};
}

/// Draws a number of rows of so many pairs.
using Draw = Lookups (*)(kit::Random random, Size count, Size pairs);

void train(LuongTranslator& model, const char* name, Draw draw, const kit::Options& options) {
  constexpr Size kBatch = 64, kFewest = 2, kMost = 8;
  model.initialise(options.seed);
  kit::train(model, {.name = name, .steps = options.steps, .batch = kBatch, .seed = options.seed},
             [&](kit::Random random) {
               const Size pairs = random.between(kFewest, kMost);
               const Lookups batch = draw(random, kBatch, pairs);
               return cross_entropy(model(batch.source, {}, batch.questions), batch.answers);
             });
}

struct Counted {
  double symbols = 0, strings = 0;  // per cent right
  std::vector<double> by_question;  // share of symbols right at the first, second, … question
};

Counted count(const LuongTranslator& model, Draw draw, const kit::Options& options, Size pairs) {
  constexpr std::uint64_t kTestStreams = 1'000'000;  // far from the streams of training
  const Size rows = options.smoke ? 20 : 1000;
  const Lookups test =
      draw(kit::Random(options.seed, kTestStreams + static_cast<std::uint64_t>(pairs)), rows, pairs);
  const Indices written = argmax(model(test.source, {}, test.questions));
  Counted counted{
      kit::percent_equal(written, test.answers), kit::percent_rows_equal(written, test.answers), {}};
  for (Size t = 0; t < test.answers.shape()[1]; ++t)
    counted.by_question.push_back(kit::percent_equal(written.column(t), test.answers.column(t)) / 100);
  return counted;
}

struct Entry {
  Kind kind;
  const char *name, *formula;
};
constexpr std::array<Entry, 5> kScores = {{{Kind::dot, "dot", "q · k"},
                                           {Kind::general, "general", "q · W k"},
                                           {Kind::concat, "concat", "v · tanh(W [q; k])"},
                                           {Kind::location, "location", "(W q)_j"},
                                           {Kind::fully_connected, "fully connected", "(W [e; q])_j"}}};

// What to expect. The three that compare find any pair, in lists twice as long as any they were trained on: a
// list is searched by content, and its length does not matter. The two that point cannot know where a letter
// stands. That they answer some questions anyway is lesson 10's doing: h_0 is made of the encoder's two ends,
// and holds something of a short list. The location score, for one, learns to find a pair at one end, where a
// direction of the encoder stopped; for the others it spreads its weights over all digits, which counts them,
// and names a frequent one. One pair of four is a lot, one of sixteen is not: both fade as lists grow.

bool points(const Entry& entry) {
  return entry.kind == Kind::location || entry.kind == Kind::fully_connected;
}

void compare_scores(std::deque<LuongTranslator>& models, const kit::Options& options, kit::Report& report) {
  std::vector<std::array<Counted, 3>> counted;  // at 4, 8, 16 pairs
  kit::Chart chart{"Looking up: dot, general and concat find it, the others do not",
                   "pairs in the list",
                   "symbols right in %",
                   {},
                   {}};
  for (const Entry& entry : kScores) {
    LuongTranslator& model = models.emplace_back(model_options(entry.kind, Feeding::no));
    train(model, entry.name, kit::draw_lookups, options);
    kit::Series& series = chart.series.emplace_back(kit::Series{entry.name, {}, {}});
    if (!points(entry)) series.dashes = static_cast<int>(chart.series.size()) - 1;  // the three lie together
    std::array<Counted, 3>& results = counted.emplace_back();
    for (Size pairs = 2; pairs <= kMostPairs; pairs += 2) {
      const Counted result = count(model, kit::draw_lookups, options, pairs);
      if (pairs == 4 || pairs == 8 || pairs == 16) results[pairs == 4 ? 0 : pairs == 8 ? 1 : 2] = result;
      series.x.push_back(static_cast<double>(pairs));
      series.y.push_back(result.symbols);
    }
  }
  fmt::print(
      "  score            formula             parameters    symbols right in %    strings right in %\n"
      "                                                   4 pairs     8    16    4 pairs     8    16\n");
  for (std::size_t i = 0; i < kScores.size(); ++i) {
    const auto& [at4, at8, at16] = counted[i];
    fmt::print("  {:<15}  {:<18}  {:>10}   {:>7.1f} {:>5.1f} {:>5.1f}    {:>7.1f} {:>5.1f} {:>5.1f}\n",
               kScores[i].name, kScores[i].formula, weights_of(models[i].decoder.attention), at4.symbols,
               at8.symbols, at16.symbols, at4.strings, at8.strings, at16.strings);
  }
  for (std::size_t i = 0; i < kScores.size(); ++i) {
    const std::string name = kScores[i].name;
    const auto& [at4, at8, at16] = counted[i];
    if (points(kScores[i])) {
      report.at_most(name + ": symbols, 4 pairs", at4.symbols, 60, "%");
      report.at_least(name + ": lost from 4 to 8 pairs", at4.symbols - at8.symbols, 0, "points");
      report.at_least(name + ": lost from 8 to 16", at8.symbols - at16.symbols, 0, "points");
    } else {
      report.at_least(name + ": strings, 8 pairs", at8.strings, 99, "%");
      report.at_least(name + ": strings, 16 pairs", at16.strings, 99, "%");
    }
  }
  kit::show(chart, options.out / "scores.svg");
}

// ---- 3. Where each looked ---------------------------------------------------------------------------------
//
// The same six pairs for each: questions down, the source across. A score that compares has one strong cell
// in each row, at the digit (or at its letter, whose state has read the digit from the other side). A score
// that points has columns: but for the one pair that it may know, it looks at the same places for any letter.

void show_weights(const LuongTranslator& model, const Entry& entry, const kit::Options& options) {
  constexpr Size kShown = 6;
  const Lookups one = kit::draw_lookups(kit::Random(options.seed, 2'000'000), 1, kShown);
  const WeightRecorder recorder(model.decoder.attention);  // while it lives, it keeps the weights
  const Ids written = argmax(model(one.source, {}, one.questions)).to_vector();
  const Ids questions = one.questions.to_vector(), answers = one.answers.to_vector();
  kit::Heatmap map;
  map.title = fmt::format("{}: {}", entry.name, entry.formula);
  for (const std::int64_t id : one.source.to_vector()) map.columns.push_back(kit::lookup_symbol(id));
  for (std::size_t t = 0; t < questions.size(); ++t)
    map.rows.push_back(fmt::format("{}? {} {}", kit::lookup_symbol(questions[t]),
                                   kit::lookup_symbol(written[t]), written[t] == answers[t] ? "✓" : "✗"));
  map.values = recorder.weights().front().to_vector();
  std::string file = entry.name;
  std::replace(file.begin(), file.end(), ' ', '_');
  kit::show(map, options.out / (file + ".svg"));
}

// ---- 4. Input feeding -------------------------------------------------------------------------------------
//
// Without input feeding, what is read at step t goes into the answer and is gone. The recurrence h_1, h_2, …
// never hears of it: h_t depends on the words that went in and on h_0 alone. (That has a good side. All h_t
// can be computed first, and then all of them attend at once.) In a translator the word that was written
// comes back as the next input, and tells the recurrence much of what was read. To see what the vector h̃
// carries, we take the word away. The task is a trail: each letter stands for another one, given as a capital
// so that answers are told from questions. Only the first question is asked aloud; after it the decoder hears
// "·", go on.
//
//     source  a C f A c F        questions  a · · ·        answers  C F A C
//
// The second answer is what the first one stands for. Whoever forgot the first cannot know where to look.

void feed_back(const kit::Options& options, kit::Report& report) {
  kit::Heatmap map{"A trail of letters: share of answers right", {"1st", "2nd", "3rd", "4th"}, {}, {}};
  map.numbers = true;
  std::vector<Counted> counted;
  for (const Feeding feeding : {Feeding::no, Feeding::yes}) {
    const char* name = feeding == Feeding::yes ? "input feeding" : "no input feeding";
    LuongTranslator model(model_options(Kind::dot, feeding));
    train(model, name, kit::draw_trails, options);
    counted.push_back(count(model, kit::draw_trails, options, 8));
    map.rows.emplace_back(name);
    for (const double right : counted.back().by_question) map.values.push_back(right);
  }
  report.at_least("no input feeding: 1st answer, 8 pairs", 100 * counted[0].by_question[0], 99, "%");
  report.at_most("no input feeding: 2nd answer", 100 * counted[0].by_question[1], 40, "%");
  report.at_least("input feeding: whole trails, 8 pairs", counted[1].strings, 99, "%");
  kit::show(map, options.out / "input_feeding.svg");
}

// ---- 5. Homework: scaled dot in place of additive ---------------------------------------------------------
//
// A task from many a course, solved: in a model whose score is additive(d_q, d_k, units), put the scaled dot
// product of lesson 8. It is one line:
//
//     options.decoder.score = scaled_dot();
//
// (What makes weights of the scores is one line too: options.decoder.attend.normalise = sparsemax_weights.)
//
// It is one line *because* the decoder's states (the queries) and the encoder's (the keys) are both 64 wide
// here: a product of two vectors wants d_q = d_k. The additive score never asked for that. W_q and W_k bring
// any two widths to a third. With a bidirectional encoder it means half the decoder's width in each
// direction. Where the widths differ, you change one of them, or you put a matrix between, and then you have
// Luong's general score, not the same model with another score. (And scaled dot is not Luong's: his dot has
// no √d.)

void homework(const kit::Options& options, kit::Report& report) {
  TranslatorOptions changed = model_options(Kind::concat, Feeding::no);  // concat is additive
  changed.decoder.score = scaled_dot();
  LuongTranslator model(changed);
  train(model, "scaled dot", kit::draw_lookups, options);
  const auto strings = [&](Size pairs) { return count(model, kit::draw_lookups, options, pairs).strings; };
  report.at_least("scaled dot: strings right, 8 pairs", strings(8), 99, "%");
  report.figure("scaled dot: strings right, 16 pairs", strings(kMostPairs), "%");

  const Tensor query = random_normal({1, 3, 4}, options.seed), keys = random_normal({1, 5, 6}, options.seed);
  Attention adds{additive(4, 6, 5)};
  adds.initialise(options.seed);
  report.check("additive takes queries of 4 and keys of 6", adds(query, keys, keys).context.size(-1) == 6);
  bool refused = false;
  try {
    Attention{scaled_dot()}(query, keys, keys);
  } catch (const Error& error) {
    fmt::print("  {}\n", error.what());
    refused = true;
  }
  report.check("scaled dot refuses them", refused);
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Five scores, and the step around them");
  for (const Entry& entry : kScores) check_step(entry.name, entry.kind, options.seed, report);
  report.section("One decoder, five scores");
  std::deque<LuongTranslator> models;
  compare_scores(models, options, report);
  report.section("Where each looked");
  for (std::size_t i = 0; i < models.size(); ++i) show_weights(models[i], kScores[i], options);
  report.section("Input feeding");
  feed_back(options, report);
  report.section("Homework: scaled dot in place of additive");
  homework(options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("12_luong", "many scores, one decoder");
  program.steps(1500, 10);
  return program.run(argc, argv, lesson);
}
