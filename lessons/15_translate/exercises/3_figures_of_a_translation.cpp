// 15.3 figures_of_a_translation: before the program counts
// predict, 15 minutes
//
// Predict of BLEU: p_1 of "la la la la" for "la maison de la reine", the factor min(1, e^(1 − r/c)) of an output of
// 6 words for a reference of 9, and p_1 of a corpus of two sentences, one of 4 words that are all right, and one of
// 16 of which 4 are right. Predict of two searches, greedy and with a beam of 2, the probability of the sentence that
// each finds, where of equal ones the first wins and what follows each word is
//
//     <begin>: a .5, b .5     a: x .4, y .4, <end> .2     b: z 1     x, y, z: <end> 1
//
// And predict which source word, 0 to 3, takes the place of an <unk> with weights .1, .35, .15, 0 on the words and
// .4 on <end>.
#include "lessons/grader/answer.hpp"

double clipped_share() {
  //[ of "la la la la" for "la maison de la reine"
  //: return not_written_yet();
  return 2.0 / 4;  // the reference has "la" twice; four were written
  //]
}

double brevity() {
  //[ of 6 words for 9
  //: return not_written_yet();
  return std::exp(1 - 9.0 / 6);  // r/c is 1.5
  //]
}

double share_of_the_corpus() {
  //[ 4 of 4 right, 4 of 16 right
  //: return not_written_yet();
  return (4.0 + 4) / (4 + 16);  // counts are summed up first
  //]
}

double by_greedy() {
  //[ the probability of its sentence
  //: return not_written_yet();
  return 0.5 * 0.4;  // a, x, <end>
  //]
}

double by_beam() {
  //[ the probability of the sentence that a beam of 2 finds
  //: return not_written_yet();
  return 0.5;  // b, z, <end>: b had been kept beside a
  //]
}

double copied_word() {
  //[ which of the words 0 to 3
  //: return not_written_yet();
  return 1;  // <end> has the largest weight of all, but is no word
  //]
}

// hint: How many "la" can be crossed off in the reference, and how many were written?
// hint: Which of r and c is 9? What is r/c?
// hint: For a corpus: (m of the first + m of the second) / (____ + ____).
// hint: Write down what is alive after one word, after two, after three: for greedy one beginning, for the
//   beam two.
//
// wrong: Without clipping. The reference has "la" twice, so two of the four count.
// - return 2.0 / 4;  // the reference has "la" twice; four were written
// + return 1;
// wrong: The reference has "la" twice, and both may be used up.
// - return 2.0 / 4;  // the reference has "la" twice; four were written
// + return 0.25;
// wrong: You divided by the words of the reference. p_1 is a share of the output.
// - return 2.0 / 4;  // the reference has "la" twice; four were written
// + return 2.0 / 5;
// wrong: That is c/r. BLEU takes e^(1 − r/c).
// - return std::exp(1 - 9.0 / 6);  // r/c is 1.5
// + return 6.0 / 9;
// wrong: r and c are exchanged: r is the reference's 9.
// - return std::exp(1 - 9.0 / 6);  // r/c is 1.5
// + return std::exp(1 - 6.0 / 9);
// wrong: The factor is 1 only if the output is as long as the reference, or longer.
// - return std::exp(1 - 9.0 / 6);  // r/c is 1.5
// + return 1;
// wrong: That is the mean of the two sentences' shares, 1 and 0.25. Counts are summed up before they are
//   divided, so the long sentence weighs more.
// - return (4.0 + 4) / (4 + 16);  // counts are summed up first
// + return (1 + 0.25) / 2;
// wrong: Greedy search takes a, the first of two equals, and cannot go back to b.
// - return 0.5 * 0.4;  // a, x, <end>
// + return 0.5;
// wrong: After a the likeliest next is x with .4; <end> has .2.
// - return 0.5 * 0.4;  // a, x, <end>
// + return 0.5 * 0.2;
// wrong: The beam keeps a *and* b. From b there is z with probability 1.
// - return 0.5;  // b, z, <end>: b had been kept beside a
// + return 0.5 * 0.4;
// wrong: A probability of 1 is that of z after b. b itself has .5.
// - return 0.5;  // b, z, <end>: b had been kept beside a
// + return 1;
// wrong: <end> has the largest weight, and it is the place behind the words: there is nothing to copy there.
// - return 1;  // <end> has the largest weight of all, but is no word
// + return 4;
// wrong: Places are counted from 0 here: the weights of words 0, 1, 2, 3.
// - return 1;  // <end> has the largest weight of all, but is no word
// + return 2;

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "lessons/kit/translation/bleu.hpp"
#include "nn/decode.hpp"

namespace {

/// <begin>, <end>, a, b, x, y, z.
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
  void keep_rows(const std::vector<Size>& rows) override { rows_ = static_cast<Size>(rows.size()); }

 private:
  Size rows_ = 1;
};

double found_with(Size beam) {
  Table table;
  const SearchOptions how{.begin = 0, .end = 1, .max_length = 5, .beam = beam, .length_power = 0};
  return std::exp((beam == 1 ? greedy(table, how) : beam_search(table, how)).front().log_probability);
}

/// Words of which the first `right` are "a" as in the reference, and the rest "b".
kit::Words sentence(std::size_t words, std::size_t right) {
  kit::Words all(words, "b");
  std::fill_n(all.begin(), right, "a");
  return all;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("foretells what clipping leaves", [&] {
    judge.predicted(
        clipped_share(),
        kit::corpus_bleu({kit::split_words("la la la la")}, {kit::split_words("la maison de la reine")})
                .precisions[0] /
            100,
        "p_1");
  });
  judge.claim("foretells what brevity costs", [&] {
    judge.predicted(brevity(), kit::corpus_bleu({sentence(6, 6)}, {sentence(9, 9)}).brevity, "the factor");
  });
  judge.claim("foretells the share of a corpus", [&] {
    judge.predicted(share_of_the_corpus(),
                    kit::corpus_bleu({sentence(4, 4), sentence(16, 4)}, {sentence(4, 4), sentence(16, 16)})
                            .precisions[0] /
                        100,
                    "p_1");
  });
  judge.claim("foretells where greedy search ends",
              [&] { judge.predicted(by_greedy(), found_with(1), "the probability"); });
  judge.claim("foretells what a beam finds",
              [&] { judge.predicted(by_beam(), found_with(2), "the probability"); });
  judge.claim("foretells which word is copied", [&] {
    const std::vector<double> words = {.1, .35, .15, 0};  // without <end>
    judge.predicted(copied_word(),
                    static_cast<double>(std::max_element(words.begin(), words.end()) - words.begin()),
                    "the word's place");
  });
}
