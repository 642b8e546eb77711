// 15.1 bleu_of_a_corpus: BLEU of a corpus
// implement, 20 minutes
//
// Write BLEU for a corpus: a list of output sentences and a list of reference sentences, in the same order.
//
// An n-gram is a run of n consecutive words. runs(words, n) returns how often each n-gram occurs in a sentence.
// An n-gram of an output matches as often as it occurs there, but at most as often as it occurs in the
// reference of *the same* sentence. For each n, sum up over all sentences:
//
//     m_n, t_n      the matching n-grams, and all n-grams of the outputs
//     c, r          the words of the outputs, and the words of the references
//
// Then compute
//
//     BLEU = 100 · min(1, e^(1 − r/c)) · (m_1/t_1 · m_2/t_2 · m_3/t_3 · m_4/t_4)^¼
#include "lessons/grader/answer.hpp"

using Words = std::vector<std::string>;
using Corpus = std::vector<Words>;  // one element for each sentence

std::map<Words, double> runs(const Words& words, std::size_t n) {
  std::map<Words, double> counts;
  for (std::size_t i = n; i <= words.size(); ++i)
    counts[Words(words.begin() + static_cast<std::ptrdiff_t>(i - n),
                 words.begin() + static_cast<std::ptrdiff_t>(i))] += 1;
  return counts;
}

double bleu(const Corpus& outputs, const Corpus& references) {
  //[ about fifteen lines
  //: static_cast<void>(outputs), static_cast<void>(references);
  //: return not_written_yet();
  double c = 0, r = 0, product = 1;
  for (std::size_t s = 0; s < outputs.size(); ++s) {
    c += static_cast<double>(outputs[s].size());
    r += static_cast<double>(references[s].size());
  }
  for (std::size_t n = 1; n <= 4; ++n) {
    double matches = 0, total = 0;  // over all sentences
    for (std::size_t s = 0; s < outputs.size(); ++s) {
      const std::map<Words, double> wanted = runs(references[s], n);
      for (const auto& [run, count] : runs(outputs[s], n)) {
        total += count;
        if (wanted.count(run) > 0) matches += std::min(count, wanted.at(run));  // clipped
      }
    }
    product *= matches / total;
  }
  return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 0.25);
  //]
}

// hint: The output is "la la la" and the reference is "la maison rouge". How many of the three words may match?
//   Which count limits this number?
// hint: For each n-gram of an output with its count: total += count. If the n-gram also occurs in the
//   reference: matches += min(count, ____).
// hint: Write three nested loops: over n, over the sentences, and over the n-grams. Divide matches by total
//   after the loop over the sentences, not inside it.
//
// wrong: You count every occurrence of an n-gram in the output, even if the reference has it only once. So "la
//   la la" would be perfect. Limit the count by the count in the reference.
// - if (wanted.count(run) > 0) matches += std::min(count, wanted.at(run));  // clipped
// + if (wanted.count(run) > 0) matches += count;
// wrong: You count each n-gram only once. If the output and the reference both have it twice, two may match.
// - if (wanted.count(run) > 0) matches += std::min(count, wanted.at(run));  // clipped
// + if (wanted.count(run) > 0) matches += 1;
// wrong: You divide by the number of n-grams in the reference. That gives the fraction of the reference that
//   was found. p_n is the fraction of the *output* that is right. The factor in front of the root already
//   lowers the score of short outputs.
// - total += count;
// - if (wanted.count(run) > 0) matches += std::min(count, wanted.at(run));  // clipped
// - }
// + if (wanted.count(run) > 0) matches += std::min(count, wanted.at(run));
// + }
// + for (const auto& [run, count] : wanted) total += count;
// wrong: A short output loses nothing. A few safe words would then get 100.
// - return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 0.25);
// + return 100 * std::pow(product, 0.25);
// wrong: An output that is longer than the reference gets a higher score. The factor must be at most 1.
// - return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 0.25);
// + return 100 * std::exp(1 - r / c) * std::pow(product, 0.25);
// wrong: You exchanged r and c. Now long outputs get a lower score, not short ones.
// - return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 0.25);
// + return 100 * std::min(1.0, std::exp(1 - c / r)) * std::pow(product, 0.25);
// wrong: 1 / 4 is a division of integers, which returns 0. Any number to the power of 0 is 1.
// - return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 0.25);
// + return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 1 / 4);
// wrong: matches / total is a division of integers, which rounds a fraction below 1 down to 0. Count in double.
// - product *= matches / total;
// + product *= std::floor(matches / total);
// wrong: The fourth root is missing. The product of four precisions is far smaller than their geometric mean.
// - return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 0.25);
// + return 100 * std::min(1.0, std::exp(1 - r / c)) * product;
// wrong: You compute the mean of the sentences' precisions. For a corpus, the counts are summed up first, so a
//   long sentence has a larger effect than a short one.
// - double matches = 0, total = 0;
// - for (std::size_t s = 0; s < outputs.size(); ++s) {
// - const std::map<Words, double> wanted = runs(references[s], n);
// - for (const auto& [run, count] : runs(outputs[s], n)) {
// - total += count;
// - if (wanted.count(run) > 0) matches += std::min(count, wanted.at(run));
// - }
// - }
// - product *= matches / total;
// + double share = 0;
// + for (std::size_t s = 0; s < outputs.size(); ++s) {
// + double matches = 0, total = 0;
// + const std::map<Words, double> wanted = runs(references[s], n);
// + for (const auto& [run, count] : runs(outputs[s], n)) {
// + total += count;
// + if (wanted.count(run) > 0) matches += std::min(count, wanted.at(run));
// + }
// + share += matches / total / static_cast<double>(outputs.size());
// + }
// + product *= share;
// wrong: You compute the mean of the sentences' BLEU. For a corpus, the counts are summed up first, and there
//   is only one score for all sentences.
// - double c = 0, r = 0, product = 1;
// - for (std::size_t s = 0; s < outputs.size(); ++s) {
// + if (outputs.size() > 1) {
// + double all = 0;
// + for (std::size_t s = 0; s < outputs.size(); ++s) all += bleu({outputs[s]}, {references[s]});
// + return all / static_cast<double>(outputs.size());
// + }
// + double c = 0, r = 0, product = 1;
// + for (std::size_t s = 0; s < outputs.size(); ++s) {
// wrong: A sentence with fewer than n words has no n-grams. size() − n + 1 is unsigned, so it becomes a huge
//   number instead of a number below 0.
// - for (const auto& [run, count] : runs(outputs[s], n)) {
// - total += count;
// + total += static_cast<double>(outputs[s].size() - n + 1);
// + for (const auto& [run, count] : runs(outputs[s], n)) {

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

Words split(const std::string& text) {
  Words words(1);
  for (const char c : text)
    if (c == ' ')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

/// Computes BLEU with n-grams as strings. Each match removes one n-gram from the reference.
double by_crossing_off(const Corpus& outputs, const Corpus& references) {
  double score = 100, c = 0, r = 0;
  for (std::size_t n = 1; n <= 4; ++n) {
    double matches = 0, all = 0;
    for (std::size_t s = 0; s < outputs.size(); ++s) {
      const auto texts = [n](const Words& words) {
        std::vector<std::string> found;
        for (std::size_t i = 0; i + n <= words.size(); ++i) {
          std::string text;
          for (std::size_t j = i; j < i + n; ++j) text += words[j] + " ";
          found.push_back(text);
        }
        return found;
      };
      std::vector<std::string> left = texts(references[s]);
      for (const std::string& run : texts(outputs[s])) {
        all += 1;
        const auto found = std::find(left.begin(), left.end(), run);
        if (found == left.end()) continue;
        matches += 1;
        left.erase(found);
      }
      if (n == 1) c += static_cast<double>(outputs[s].size()), r += static_cast<double>(references[s].size());
    }
    score *= std::sqrt(std::sqrt(matches / all));
  }
  return c < r ? score * std::exp((c - r) / c) : score;
}

}  // namespace

void judge(Judge& judge) {
  const auto compare = [&](const Corpus& outputs, const Corpus& references) {
    judge.same(bleu(outputs, references), by_crossing_off(outputs, references), "BLEU");
  };
  const auto pair = [&](const std::string& output, const std::string& reference) {
    judge.example("\"" + output + "\" for \"" + reference + "\"");
    compare({split(output)}, {split(reference)});
  };
  judge.claim("computes 70.7 for the chapter's sentence of eight words",
              [&] { pair("un homme fait du vélo dans une rue", "un homme fait du vélo dans la rue"); });
  judge.claim("does not reward long output", [&] { pair("a b c d e f g", "a b c d e"); });
  judge.claim("clips n-grams that occur too often",
              [&] { pair("la maison de la la la la rue", "la maison de la ville est la rue de la"); });
  judge.claim("counts an n-gram as often as the reference has it",
              [&] { pair("a b a b a b", "a b a b a b a b"); });
  judge.claim("lowers the score of short output",
              [&] { pair("un homme fait du", "un homme fait du vélo dans la rue"); });
  judge.claim("sums up the counts over a corpus", [&] {
    judge.example("a long output that equals its reference, and a short one with two wrong words");
    compare({split("a b c d e f g h"), split("a b c d x y")},
            {split("a b c d e f g h"), split("a b c d e f")});
  });
  judge.claim("counts no n-grams in sentences of fewer than n words", [&] {
    judge.example("a sentence of six words, and a sentence of two words");
    compare({split("a b c d e f"), split("x y")}, {split("a b c d e f"), split("x z")});
  });
  judge.claim("computes BLEU for other corpora", [&] {
    judge.each_size({{"sentences", 1, 4}, {"words", 6, 10}}, [&](const Sizes& n) {
      Corpus outputs, references;
      for (Size s = 0; s < n[0]; ++s) {
        Words reference;
        for (Size i = 0; i < n[1]; ++i)
          reference.emplace_back(1, static_cast<char>('a' + judge.random().below(4)));
        Words output = reference;
        output.back() = "z";
        if (judge.random().chance(0.5)) output.insert(output.begin(), "a");
        if (judge.random().chance(0.5)) output.erase(output.begin() + 5);
        outputs.push_back(output);
        references.push_back(reference);
      }
      compare(outputs, references);
    });
  });
}
