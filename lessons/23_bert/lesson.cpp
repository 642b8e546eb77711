// 23 bert: pretrain an encoder on hidden words, then fine-tune it
//
// 20 minutes to read, a minute to run. Needs lessons 18 to 20 (heads, blocks, a language model) and 15 (the
// grammar). Afterwards you can turn plain text into a training task by hiding words, build the head that
// predicts the hidden words, and fine-tune the pretrained model on a task with few labels.
//
// In lesson 20, a language model attends only to the left of each position, because it must not see the word
// that it predicts. In lesson 22, an encoder attends in both directions. Predicting the next word teaches an
// encoder nothing, because the next word is part of its input. So what can an encoder learn from text without
// labels? And how does that help with a task that has only a few labels?

#include <cmath>

#include "core/core.hpp"
#include "lessons/23_bert/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"

using namespace tapestry;
using namespace tapestry::lesson23;

namespace {

// ---- 1. Hiding words --------------------------------------------------------------------------------------
// BERT (Devlin et al. 2019) stands for bidirectional encoder representations from transformers. It is trained
// by *masked language modelling*: we hide some words of a text, and the model predicts them. Here is a text
// with two of its four words hidden:
//
//     input                     the    [mask]    house    [mask]
//     answer                            red               sleeps
//     its probability                   0.5                0.2
//     −log of it                       0.693              1.609      mean of the two 1.151: the loss
//
// Only the hidden positions count in the loss. At the other positions the answer is part of the input, so
// predicting it is easy. If the loss counted all four positions, and the model gave the two visible words the
// probability 1, the mean would be 0.576. This number is smaller, although the model has learned nothing
// about the hidden words.
//
// We choose each word with probability 25 %. (BERT chose about one token in seven, in much longer texts.) Then:
//
// - 80 % of the chosen words become [mask];
// - 10 % become another word, drawn at random;
// - 10 % stay as they are, but the loss asks for them too.
//
// Later, we use the model for texts that contain no [mask]. Because some chosen words are replaced or
// kept, the model cannot rely on the word at a position, and it must have a prediction at every position.

Row hide(const Dictionary& dictionary, Row row, Random& random, double share) {
  for (std::size_t i = 0; i < row.words.size(); ++i) {
    if (row.words[i] < kFirstWord || !random.chance(share)) continue;  // never hide <start> or <end>
    row.answers[i] = row.words[i];                                     // elsewhere: kNone
    const double coin = random.uniform();
    if (coin < 0.8)
      row.words[i] = dictionary.mask;
    else if (coin < 0.9)
      row.words[i] = kFirstWord + random.below(dictionary.mask - kFirstWord);
  }
  return row;
}

// The choice is drawn anew at every step, so a text that occurs twice has different words hidden each time.
//
// Each of our texts is an English sentence followed by its French translation (Conneau & Lample 2019). A word
// that is spelled alike in both languages has two entries in the dictionary, such as zone and zone/fr. So the
// spelling does not tell the model which word translates which.

void hiding(const Dictionary& dictionary, const kit::Options& options, kit::Report& report) {
  kit::check_worked_example(report, "two hidden words",
                            {{-std::log(0.5), 0.693},
                             {-std::log(0.2), 1.609},
                             {-std::log(0.5 * 0.2) / 2, 1.151},
                             {-std::log(0.5 * 0.2) / 4, 0.576}});
  show_masking(hide, dictionary, options.seed);
  const MaskingStatistics statistics = count_masking(hide, dictionary, options);
  report.check_quoted("chosen", statistics.chosen, 25, 0.05, "%");
  report.check_quoted("of these became [mask]", statistics.masked, 80, 0.05, "%");
  report.check_quoted("unchanged (or replaced by the same word)", statistics.same, 10, 0.15, "%");
}

// ---- 2. The head that predicts hidden words ---------------------------------------------------------------
// The encoder turns the words (B, T) into states (B, T, width). Each state depends on the words on both
// sides. Each word is embedded, and two vectors are added to its embedding: one for its position, and one for
// its *segment*, which says whether the word is in the English or the French half.
//
// On top of the encoder there is a *head*: the layers that a task adds to an encoder. (The word has a second
// meaning here. It does not mean an attention head.)
//
//     logits = norm(gelu(W x + b)) Eᵀ + c
//
// Here x is a state of the encoder, and gelu is a smooth relu. E contains the word embeddings, so its weights
// are tied to those of the input (lesson 20). W, b and c are learned.
//
// For the loss, we select the positions that have an answer, and average −log of the answer's probability
// over these positions.

Tensor loss_by_hand(const Tensor& states, const MaskedModel& m, const Indices& answers) {
  const Tensor units = gelu(matmul(states, transpose(m.dense.weight)) + m.dense.bias);
  const Tensor centred = units - mean(units, {-1}, Keep::yes);
  const Tensor normed =
      centred / sqrt(mean(centred * centred, {-1}, Keep::yes) + 1e-5) * m.norm.weight + m.norm.bias;
  const Tensor logits = matmul(normed, transpose(m.output.weight)) + m.output.bias;  // (B, T, V)
  Ids places, words;  // positions and words of the answers; the rows of the text are concatenated
  const Ids all = answers.to_vector();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] != kNone) {
      places.push_back(static_cast<std::int64_t>(i));
      words.push_back(all[i]);
    }
  const auto count = static_cast<Size>(places.size());
  const Tensor rows =
      embedding(reshape(logits, {answers.count(), logits.size(-1)}), Indices(places, {count}));
  return -mean(gather(log_softmax(rows, -1), 1, Indices(words, {count, 1})));  // (count, V) → a scalar
}

// cross_entropy() computes the same loss if its option `ignore` is kNone. model.hpp contains the whole model,
// built with nn/.

// ---- 3. Pretraining ---------------------------------------------------------------------------------------
// We pretrain on sentences from lesson 15's grammar, with one addition. In real text, words of similar
// meaning tend to occur together. To imitate this, we declare some words friendly and some unfriendly, and no
// sentence contains both kinds (moods.hpp). The model is never told which words are friendly.
//
// Half of the rows contain a sentence in both languages. The other rows contain only the English or only the
// French sentence, so that the model also learns each language by itself.
//
// After pretraining, we hide one word of each new sentence, in English or in French, and count how many of
// the hidden words the model recovers.

void pretraining(MaskedModel& model, const Dictionary& dictionary, const kit::Options& options,
                 kit::Report& report) {
  const auto half = report.ask(
      "one half",
      "How many of the hidden words does the model recover without the other language, compared with "
      "a text in both languages?",
      {"as many as with both: the neighbouring words are enough", "clearly fewer than with both, but some",
       "none"});
  pretrain(model, hide, dictionary, options);
  const auto back = [&](std::int64_t segment, Context context) {
    return recovered(model, dictionary, segment, context, options);
  };
  const double english = back(0, Context::both_languages), french = back(1, Context::both_languages);
  report.at_least("hidden English words recovered", english, 95, "%");
  report.at_least("hidden French words recovered", french, 95, "%");
  const double english_alone = back(0, Context::own_language), french_alone = back(1, Context::own_language);
  report.figure("English words recovered from the English half alone", english_alone, "%");
  report.figure("French words recovered from the French half alone", french_alone, "%");
  report.answer(
      half, 'b', english - english_alone >= 20 && french - french_alone >= 10 && english_alone > 5,
      "Within one language, grammar tells the model that a noun is missing, and sometimes in which form, but "
      "not which noun. The other half contains its translation. The model was never given a dictionary: it "
      "learned from the texts which words translate each other.");
}

// At seed 1, the model recovers 99.2 % of the hidden English words from both halves, and 37.9 % from the
// English half alone. So most of the information about a hidden word is in its translation. At other seeds,
// the numbers differ, but the second is always clearly below the first.

// ---- 4. Attention between the languages -------------------------------------------------------------------
// The figure shows the attention weights of every head for one sentence in both languages. Rows are queries
// and columns are keys. In each map the English words come first, then the French words.
//
// Weights near the diagonal belong to the word itself and its neighbours. Weights in the upper right and the
// lower left corner belong to words of the other language.

void attention(MaskedModel& model, const Dictionary& dictionary, const kit::Options& options,
               kit::Report& report) {
  const auto most = report.ask(
      "the other language",
      "We take the head with the most weight on the other language. What part of its attention weight "
      "is on the other language?",
      {"close to 0 %: heads attend to neighbours", "about 50 %: as much as on the word's own language",
       "clearly more than 50 %"});
  const double other = show_attention(model, dictionary, options);
  report.figure("largest attention weight of a head on the other language", other, "%");
  report.answer(
      most, 'c', other >= 60,
      "The translation of a hidden word helps to predict the word, so a head has learned to attend to it. In "
      "French some adjectives follow their noun. There the line of weights in the corner crosses itself.");
}

// ---- 5. Fine-tuning ---------------------------------------------------------------------------------------
// The new task is to decide whether a French sentence is friendly. Half of the sentences are friendly, so
// guessing is right for half of them.
//
// A *classifier* for this task has the same encoder, and a linear layer that maps the mean of the encoder's
// states to two logits. *Fine-tuning* starts the encoder from its pretrained weights and trains all weights
// on the labels. We compare it with a classifier that starts from random weights and gets the same labels and
// the same number of steps.
//
// The task is hard with few labels, because French words have many forms: vert, verte, verts, vertes.

void fine_tuning(const MaskedModel& model, const Dictionary& dictionary, const kit::Options& options,
                 kit::Report& report) {
  show_labels(options);
  const auto gain = report.ask(
      "32 labels",
      "With 32 labels, how does the accuracy of the fine-tuned classifier on new sentences compare with that of "
      "the classifier from random weights?",
      {"10 percentage points higher, or more", "about equal: both have the same labels",
       "lower: its encoder has learned another task"});
  const FewLabels at_32 = few_labels(model, dictionary, options);
  const double points = at_32.fine_tuned - at_32.from_random;
  report.at_least("accuracy gained by pretraining, 32 labels", points, 10, "points");
  report.answer(
      gain, 'a', points >= 10,
      "Some words of the test sentences occur in no labelled sentence: the table says how many. The classifier "
      "from random weights has learned nothing about these words. The pretrained encoder has learned which "
      "words they occur with.");
}

// At seed 1, the table of both classifiers reads:
//
//     labels  fine-tuned  from random weights     words without a label
//          8      79.5 %               64.7 %                    57.1 %
//         16      91.6 %               72.2 %                    34.9 %
//         32      99.0 %               80.6 %                    17.5 %
//         64      99.5 %               87.2 %                     5.1 %
//        128     100.0 %               95.5 %                     1.2 %
//
// The last column shows how many words of the test sentences occur in no labelled sentence. Random weights
// contain nothing about such words. In pretraining, the encoder has seen with which other words they occur.
// With more labels, there are fewer such words, so the advantage of pretraining becomes small. At other
// seeds, the numbers differ, but with 32 labels pretraining always helps clearly.

// What to remember. Masked language modelling hides words, predicts them, and counts only the hidden words in
// the loss. It makes a training task from plain text. A model that attends in both directions uses everything
// that helps its predictions, here also the other language. After pretraining on much text, a few labels are
// enough for a new task.
//
// Exercises: lessons/practise 23 (hiding words as BERT does; the loss of hidden words; numbers of pretraining
// and fine-tuning; a small model for hidden words).

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("23_bert", "pretrain an encoder on hidden words, then fine-tune it");
  program.steps(2400, 4);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    const Dictionary dictionary;
    MaskedModel model(sizes(dictionary, 64, 2));
    model.initialise(options.seed);
    report.section("Hiding words");
    hiding(dictionary, options, report);
    report.section("The head that predicts hidden words");
    check_head(loss_by_hand, hide, dictionary, options.seed, report);
    report.section("Pretraining");
    pretraining(model, dictionary, options, report);
    report.section("Attention between the languages");
    attention(model, dictionary, options, report);
    report.section("Fine-tuning");
    fine_tuning(model, dictionary, options, report);
  });
}
