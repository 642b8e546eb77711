// 15.3 figures_of_a_translation: BLEU, beams and copied words by hand
// predict, 15 minutes
//
// Predict six numbers. Three are about BLEU:
//
//     p_1 of the output "la la la la" for the reference "la maison de la reine"
//     the factor min(1, e^(1 − r/c)) of an output of 6 words for a reference of 9 words
//     p_1 of a corpus: one output of 4 words, all right, and one output of 16 words, of which 4 are right
//
// Two are about searches: the probability of the sentence that a greedy search finds, and of the sentence that
// a beam of 2 finds. Here are the next words with their probabilities. Of two equally probable words, a
// search takes the first.
//
//     <begin>: a .5, b .5     a: x .4, y .4, <end> .2     b: z 1     x, y, z: <end> 1
//
// The last is about an <unk> with the weights .1, .35, .15, 0 on the source words 0 to 3, and .4 on <end>.
// Which of these words is copied?
#include "lessons/grader/answer.hpp"

double clipped_share() {
  //[ of "la la la la" for "la maison de la reine"
  //: return not_written_yet();
  return 2.0 / 4;  // the reference has "la" twice; four were written
  //]
}

double brevity() {
  //[ for 6 words and a reference of 9
  //: return not_written_yet();
  return std::exp(1 - 9.0 / 6);  // r/c is 1.5
  //]
}

double share_of_the_corpus() {
  //[ 4 of 4 right, 4 of 16 right
  //: return not_written_yet();
  return (4.0 + 4) / (4 + 16);  // the counts are summed up first
  //]
}

double by_greedy() {
  //[ the probability of the sentence that greedy search finds
  //: return not_written_yet();
  return 0.5 * 0.4;  // a, x, <end>
  //]
}

double by_beam() {
  //[ the probability of the sentence that a beam of 2 finds
  //: return not_written_yet();
  return 0.5;  // b, z, <end>: the beam kept both a and b
  //]
}

double copied_word() {
  //[ which of the words 0 to 3
  //: return not_written_yet();
  return 1;  // <end> has the largest weight, but it is not a word
  //]
}

// hint: How many "la" of the reference can be matched, and how many "la" are in the output?
// hint: Is 9 the value of r or of c? What is r/c?
// hint: For a corpus, p_1 = (matches in the first + matches in the second) / (____ + ____).
// hint: Write down the beginnings that the search keeps after one word, after two, and after three. Greedy
//   search keeps one beginning. The beam keeps two.
//
// wrong: You did not clip. The reference has "la" twice, so two of the four match.
// - return 2.0 / 4;  // the reference has "la" twice; four were written
// + return 1;
// wrong: The reference has "la" twice, and both can be matched.
// - return 2.0 / 4;  // the reference has "la" twice; four were written
// + return 0.25;
// wrong: You divided by the number of words in the reference. p_1 is a fraction of the output.
// - return 2.0 / 4;  // the reference has "la" twice; four were written
// + return 2.0 / 5;
// wrong: You computed c/r. The factor is e^(1 − r/c).
// - return std::exp(1 - 9.0 / 6);  // r/c is 1.5
// + return 6.0 / 9;
// wrong: You exchanged r and c. r is the length of the reference, 9.
// - return std::exp(1 - 9.0 / 6);  // r/c is 1.5
// + return std::exp(1 - 6.0 / 9);
// wrong: The factor is 1 only if the output is at least as long as the reference.
// - return std::exp(1 - 9.0 / 6);  // r/c is 1.5
// + return 1;
// wrong: You computed the mean of the two precisions, 1 and 0.25. The counts are summed up before the division,
//   so the long sentence has a larger effect.
// - return (4.0 + 4) / (4 + 16);  // counts are summed up first
// + return (1 + 0.25) / 2;
// wrong: Greedy search takes a, the first of two equally probable words, and cannot go back to b.
// - return 0.5 * 0.4;  // a, x, <end>
// + return 0.5;
// wrong: After a, the most probable next word is x with .4. <end> has only .2.
// - return 0.5 * 0.4;  // a, x, <end>
// + return 0.5 * 0.2;
// wrong: The beam keeps a *and* b. After b, z follows with probability 1.
// - return 0.5;  // b, z, <end>: b was kept next to a
// + return 0.5 * 0.4;
// wrong: 1 is the probability of z after b. But b itself has the probability .5.
// - return 0.5;  // b, z, <end>: b was kept next to a
// + return 1;
// wrong: <end> has the largest weight, but it is not one of the words 0 to 3. There is nothing to copy.
// - return 1;  // <end> has the largest weight of all, but is no word
// + return 4;
// wrong: The words are counted from 0, and the weights belong to the words 0, 1, 2, 3 in this order.
// - return 1;  // <end> has the largest weight of all, but is no word
// + return 2;

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "lessons/kit/translation/bleu.hpp"
#include "nn/decode.hpp"

namespace {

/// The table of the task. Its words are <begin>, <end>, a, b, x, y, z.
class Table final : public AutoregressiveModel {
 public:
  Size rows() const override { return rows_; }
  Step step(const Indices& words) override {
    static const std::vector<std::vector<double>> next = {
        {0, 0, .5, .5, 0, 0, 0}, {0, 1, 0, 0, 0, 0, 0}, {0, .2, 0, 0, .4, .4, 0}, {0, 0, 0, 0, 0, 0, 1},
        {0, 1, 0, 0, 0, 0, 0},   {0, 1, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0, 0}};
    std::vector<double> logits;
    for (const std::int64_t word : words.to_vector())
      for (const double p : next[static_cast<std::size_t>(word)])
        logits.push_back(p > 0 ? std::log(p) : -1e30);
    return {tensor(logits, {words.count(), 7}, DType::f64), {}};
  }
  void reorder_rows(const std::vector<Size>& rows) override { rows_ = static_cast<Size>(rows.size()); }

 private:
  Size rows_ = 1;
};

double found_with(Size beam) {
  Table table;
  const SearchOptions how{.begin = 0, .end = 1, .max_length = 5, .beam = beam, .length_power = 0};
  return std::exp((beam == 1 ? greedy(table, how) : beam_search(table, how)).front().log_probability);
}

/// Returns a sentence whose first `right` words are "a", as in the reference. All other words are "b".
kit::Words sentence(std::size_t words, std::size_t right) {
  kit::Words all(words, "b");
  std::fill_n(all.begin(), right, "a");
  return all;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("predicts p_1 with clipping", [&] {
    judge.predicted(
        clipped_share(),
        kit::corpus_bleu({kit::split_words("la la la la")}, {kit::split_words("la maison de la reine")})
                .precisions[0] /
            100,
        "p_1");
  });
  judge.claim("predicts the factor for a short output", [&] {
    judge.predicted(brevity(), kit::corpus_bleu({sentence(6, 6)}, {sentence(9, 9)}).brevity, "the factor");
  });
  judge.claim("predicts p_1 of a corpus", [&] {
    judge.predicted(share_of_the_corpus(),
                    kit::corpus_bleu({sentence(4, 4), sentence(16, 4)}, {sentence(4, 4), sentence(16, 16)})
                            .precisions[0] /
                        100,
                    "p_1");
  });
  judge.claim("predicts the result of greedy search",
              [&] { judge.predicted(by_greedy(), found_with(1), "the probability"); });
  judge.claim("predicts the result of a beam search",
              [&] { judge.predicted(by_beam(), found_with(2), "the probability"); });
  judge.claim("predicts the copied word", [&] {
    const std::vector<double> words = {.1, .35, .15, 0};  // without <end>
    judge.predicted(copied_word(),
                    static_cast<double>(std::max_element(words.begin(), words.end()) - words.begin()),
                    "the number of the word");
  });
}
