// 23 bert: both directions, pretrained, then fine-tuned
//
// 20 minutes to read, a minute to run. Needs lessons 18 to 20 (heads, blocks, a language model) and 15 (the
// grammar). Afterwards you can make a task of plain text by hiding words, build the head that fills them in,
// and give what was learned so to a task that has few labels.
//
// A language model (20) reads from the left, since it must not see the word that it predicts. An encoder (22)
// reads in both directions, and then "the next word" is no task: it stands in the input. What can an encoder
// learn from text without labels, and what is that good for?

#include <cmath>

#include "core/core.hpp"
#include "lessons/23_bert/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"

using namespace tapestry;
using namespace tapestry::lesson23;

namespace {

// ---- 1. Hiding words --------------------------------------------------------------------------------------
// BERT, short for bidirectional encoder representations from transformers (Devlin et al. 2019), gets a text
// in which words are hidden, and must name them: *masked* language modelling. With two words of four hidden:
//
//     goes in                   the    [mask]    house    [mask]
//     asked for                         red               sleeps
//     its probability                   0.5                0.2
//     −log of it                       0.693              1.609      mean of the two 1.151: the loss
//
// The other places do not count. To name a word that stands there is no art: with probabilities of 1 the mean
// over all four would be 0.576, and fall without anything being learned.
//
// A word is chosen with probability 25 % (BERT chose fewer, of longer texts). Of the chosen ones 80 % become
// [mask], 10 % some other word, and 10 % stay, but are asked for all the same: no [mask] stands in the texts
// that the model is for, so it may trust no word blindly, and must have an answer at each place.

Row hide(const Dictionary& dictionary, Row row, Random& random, double share) {
  for (std::size_t i = 0; i < row.words.size(); ++i) {
    if (row.words[i] < kFirstWord || !random.chance(share)) continue;  // <start> and <end> are no words
    row.answers[i] = row.words[i];                                     // elsewhere: kNone
    const double coin = random.uniform();
    if (coin < 0.8)
      row.words[i] = dictionary.mask;
    else if (coin < 0.9)
      row.words[i] = kFirstWord + random.below(dictionary.mask - kFirstWord);
  }
  return row;
}

// The coins are new at every step, so a text that comes again has other words hidden. The texts here are
// English with their French (Conneau & Lample 2019). Words that both spell alike have two places in the
// dictionary, zone and zone/fr, so that nothing says which word translates which.

void hiding(const Dictionary& dictionary, const kit::Options& options, kit::Report& report) {
  kit::check_worked_example(report, "two hidden words",
                            {{-std::log(0.5), 0.693},
                             {-std::log(0.2), 1.609},
                             {-std::log(0.5 * 0.2) / 2, 1.151},
                             {-std::log(0.5 * 0.2) / 4, 0.576}});
  show_hiding(hide, dictionary, options.seed);
  const Fates fates = count_fates(hide, dictionary, options);
  report.check_quoted("chosen", fates.chosen, 25, 0.05, "%");
  report.check_quoted("of these became [mask]", fates.masked, 80, 0.05, "%");
  report.check_quoted("stayed (or were replaced by themselves)", fates.same, 10, 0.15, "%");
}

// ---- 2. The head that fills them in -----------------------------------------------------------------------
// An encoder turns the words (B, T) into states (B, T, width), each of which has seen the words on both
// sides. Besides its place each word gets a vector for its *segment*, the half in which it stands. On top is
// a *head* (the word has two meanings: a head of attention, and this, what a task puts on an encoder):
//
//     logits = norm(gelu(W x + b)) Eᵀ + c        E: the words' own vectors, tied (20); gelu: a smooth relu
//
// The loss picks the places that have an answer, and takes −log of the answer's probability there.

Tensor loss_by_hand(const Tensor& states, const MaskedModel& m, const Indices& answers) {
  const Tensor units = gelu(matmul(states, transpose(m.dense.weight)) + m.dense.bias);
  const Tensor centred = units - mean(units, {-1}, Keep::yes);
  const Tensor normed =
      centred / sqrt(mean(centred * centred, {-1}, Keep::yes) + 1e-5) * m.norm.weight + m.norm.bias;
  const Tensor logits = matmul(normed, transpose(m.output.weight)) + m.output.bias;  // (B, T, V)
  Ids places, words;  // of the answers, in the text row after row
  const Ids all = answers.to_vector();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] != kNone) {
      places.push_back(static_cast<std::int64_t>(i));
      words.push_back(all[i]);
    }
  const auto count = static_cast<Size>(places.size());
  const Tensor rows =
      embedding(reshape(logits, {answers.count(), logits.size(-1)}), Indices(places, {count}));
  return -mean(gather(log_softmax(rows, -1), 1, Indices(words, {count, 1})));  // (count, V) → a number
}

// cross_entropy() does the same if it is told to ignore kNone. In model.hpp stands the whole model of nn/.

// ---- 3. Pretraining ---------------------------------------------------------------------------------------
// The text is lesson 15's grammar, with one thing more: words keep company with words of their kind, as they
// do in real text. Some are friendly by decree, some unfriendly, and no sentence has both (moods.hpp). Nobody
// tells the model. Half of the rows have both halves; the others have one, so that each language is learned
// by itself too. Then one word of each new sentence is hidden: English, or French.

void pretraining(MaskedModel& model, const Dictionary& dictionary, const kit::Options& options,
                 kit::Report& report) {
  const auto half =
      report.ask("one half", "How many hidden words come back if the other language is cut away?",
                 {"as many: the neighbours say enough", "clearly fewer", "none at all"});
  pretrain(model, hide, dictionary, options);
  const auto back = [&](std::int64_t segment, Given given) {
    return recovered(model, dictionary, segment, given, options);
  };
  const double english = back(0, Given::both_halves), french = back(1, Given::both_halves);
  report.at_least("hidden English words recovered", english, 95, "%");
  report.at_least("hidden French words recovered", french, 95, "%");
  const double english_alone = back(0, Given::own_half), french_alone = back(1, Given::own_half);
  report.figure("English words, from English alone", english_alone, "%");
  report.figure("French words, from French alone", french_alone, "%");
  report.answer(
      half, 'b', english - english_alone >= 20 && french - french_alone >= 10 && english_alone > 5,
      "Grammar alone tells that a noun is missing, and sometimes which form, but not which noun. That "
      "stands in the other half: it has found out which words translate which.");
}

// ---- 4. Who attends to whom -------------------------------------------------------------------------------
// Each head on one sentence in both languages. Rows ask, columns answer; in each map the English words come
// first, then the French. Weights at the diagonal lie on the word itself and its neighbours; those in the
// upper right and lower left corner lie on the other language.

void attention(MaskedModel& model, const Dictionary& dictionary, const kit::Options& options,
               kit::Report& report) {
  const auto most =
      report.ask("the other language",
                 "Take the head that looks most at the other language. How much of its weight lies there?",
                 {"hardly any: heads look at neighbours", "about as much as on its own: half",
                  "clearly more than half"});
  const double other = show_attention(model, dictionary, options);
  report.figure("the head that looks most at the other language, weight there", other, "%");
  report.answer(
      most, 'c', other >= 60,
      "To fill in a word it helps to look at its translation, so a head has learned to find it. Where "
      "the adjective stands behind its noun, its line in the corner crosses over itself.");
}

// ---- 5. Fine-tuning ---------------------------------------------------------------------------------------
// A new task: is a French sentence friendly? Half of them are, so guessing is right at one of two. A
// *classifier* has the same encoder, and a linear layer on the mean of its states, for two classes.
// *Fine-tuning* starts the encoder from the pretrained weights, and trains all of it on the labels; the rival
// starts from nothing, with the same labels and steps. French has many forms: vert, verte, verts, vertes.

void fine_tuning(const MaskedModel& model, const Dictionary& dictionary, const kit::Options& options,
                 kit::Report& report) {
  show_labels(options);
  const auto gain = report.ask(
      "32 labels", "With 32 labels, how is the fine-tuned one on new sentences?",
      {"better by 10 points or more", "equal: labels are labels", "worse: it has learned another task"});
  const FewLabels at_32 = few_labels(model, dictionary, options);
  const double points = at_32.tuned - at_32.untaught;
  report.at_least("fine-tuned above from nothing, 32 labels", points, 10, "points");
  report.answer(
      gain, 'a', points >= 10,
      "Some of the test's words stand in no labelled sentence: the table says how many. From nothing "
      "they mean nothing. Pretraining has seen in whose company they stand.");
}

// What to remember. Hide words, ask for them, count only these: a task from plain text. Reading in both
// directions, a model uses whatever helps, another language too. Pretrain on much text; then few labels do.
//
// Exercises: lessons/practise 23 (hide with fresh coins; the loss of hidden words; pooling; a small model).

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("23_bert", "both directions, pretrained, then fine-tuned");
  program.steps(2400, 4);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    const Dictionary dictionary;
    MaskedModel model(sizes(dictionary, 64, 2));
    model.initialise(options.seed);
    report.section("Hiding words");
    hiding(dictionary, options, report);
    report.section("The head that fills them in");
    check_head(loss_by_hand, hide, dictionary, options.seed, report);
    report.section("Pretraining");
    pretraining(model, dictionary, options, report);
    report.section("Who attends to whom");
    attention(model, dictionary, options, report);
    report.section("Fine-tuning");
    fine_tuning(model, dictionary, options, report);
  });
}
