// 15.1 bleu_of_a_corpus: count BLEU, with clipping
// implement, 20 minutes
//
// Write BLEU of a corpus. runs(words, n) says how often each run of n words stands in a sentence. A run of an
// output counts as often as it stands there, but at most as often as it stands in *its* reference. Sum up
// over all sentences, for each n: m_n the runs that count, t_n all runs of the outputs; c the words of the
// outputs, r those of the references. Then
//
//     BLEU = 100 · min(1, e^(1 − r/c)) · (m_1/t_1 · m_2/t_2 · m_3/t_3 · m_4/t_4)^¼
#include "lessons/grader/answer.hpp"

using Words = std::vector<std::string>;
using Corpus = std::vector<Words>;  // a sentence for each line

std::map<Words, double> runs(const Words& words, std::size_t n) {
  std::map<Words, double> counts;
  for (std::size_t i = n; i <= words.size(); ++i)
    counts[Words(words.begin() + static_cast<std::ptrdiff_t>(i - n),
                 words.begin() + static_cast<std::ptrdiff_t>(i))] += 1;
  return counts;
}

double bleu(const Corpus& outputs, const Corpus& references) {
  //[ some fifteen lines
  //: static_cast<void>(outputs), static_cast<void>(references);
  //: return not_written_yet();
  double c = 0, r = 0, product = 1;
  for (std::size_t s = 0; s < outputs.size(); ++s) {
    c += static_cast<double>(outputs[s].size());
    r += static_cast<double>(references[s].size());
  }
  for (std::size_t n = 1; n <= 4; ++n) {
    double matches = 0, total = 0;  // of all sentences
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

// hint: "la la la" for "la maison rouge": how many of the three words may count, and what says so?
// hint: For each run of an output with its count: total += count; if the reference has it, matches +=
//   min(count, ____).
// hint: Loops: for each n, for each sentence, for each run. Divide matches by total behind the loop over
//   sentences, not in it.
//
// wrong: A run counts each time that it is written, if the reference has it once: "la la la" would be
//   perfect. Clip its count at the reference's.
// - if (wanted.count(run) > 0) matches += std::min(count, wanted.at(run));  // clipped
// + if (wanted.count(run) > 0) matches += count;
// wrong: A run counts once, however often it stands in both. If the reference has it twice, two may count.
// - if (wanted.count(run) > 0) matches += std::min(count, wanted.at(run));  // clipped
// + if (wanted.count(run) > 0) matches += 1;
// wrong: You divide by the runs of the reference. That is how much of the reference was found; p_n asks how
//   much of the output is right, and the factor in front lowers the score of what is too short.
// - total += count;
// - if (wanted.count(run) > 0) matches += std::min(count, wanted.at(run));  // clipped
// - }
// + if (wanted.count(run) > 0) matches += std::min(count, wanted.at(run));
// + }
// + for (const auto& [run, count] : wanted) total += count;
// wrong: Output that is too short loses nothing: a few safe words would get 100.
// - return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 0.25);
// + return 100 * std::pow(product, 0.25);
// wrong: Output that is longer than the reference is rewarded. The factor is 1 at most.
// - return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 0.25);
// + return 100 * std::exp(1 - r / c) * std::pow(product, 0.25);
// wrong: r and c are exchanged: now it is long output that loses.
// - return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 0.25);
// + return 100 * std::min(1.0, std::exp(1 - c / r)) * std::pow(product, 0.25);
// wrong: 1 / 4 is a division of whole numbers, which cuts off: it is 0, and anything to the power of 0 is 1.
// - return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 0.25);
// + return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 1 / 4);
// wrong: matches / total of two whole numbers cuts off: a share below 1 becomes 0. Count in double.
// - product *= matches / total;
// + product *= std::floor(matches / total);
// wrong: You forgot the fourth root: four shares multiplied are far smaller than their mean.
// - return 100 * std::min(1.0, std::exp(1 - r / c)) * std::pow(product, 0.25);
// + return 100 * std::min(1.0, std::exp(1 - r / c)) * product;
// wrong: You take the mean of the sentences' shares. In a corpus the counts are summed up first, so a long
//   sentence weighs more than a short one.
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
// wrong: You take the mean of the sentences' scores. In a corpus the counts are summed up first, so there is one
//   score, of all sentences together.
// - double c = 0, r = 0, product = 1;
// - for (std::size_t s = 0; s < outputs.size(); ++s) {
// + if (outputs.size() > 1) {
// + double all = 0;
// + for (std::size_t s = 0; s < outputs.size(); ++s) all += bleu({outputs[s]}, {references[s]});
// + return all / static_cast<double>(outputs.size());
// + }
// + double c = 0, r = 0, product = 1;
// + for (std::size_t s = 0; s < outputs.size(); ++s) {
// wrong: A sentence of fewer than n words has no run of n words. size() − n + 1 has no sign: below 0 it becomes a
//   huge number.
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

/// Runs as texts; each match crosses one off the reference.
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
  judge.claim("gives a sentence of eight words its 70.7",
              [&] { pair("un homme fait du vélo dans une rue", "un homme fait du vélo dans la rue"); });
  judge.claim("rewards no long output", [&] { pair("a b c d e f g", "a b c d e"); });
  judge.claim("clips what is written too often",
              [&] { pair("la maison de la la la la rue", "la maison de la ville est la rue de la"); });
  judge.claim("lets a run count as often as the reference has it",
              [&] { pair("a b a b a b", "a b a b a b a b"); });
  judge.claim("lowers the score of short output",
              [&] { pair("un homme fait du", "un homme fait du vélo dans la rue"); });
  judge.claim("sums up over a corpus", [&] {
    judge.example("a long sentence that is right, and a short one that is half right");
    compare({split("a b c d e f g h"), split("a b c d x y")},
            {split("a b c d e f g h"), split("a b c d e f")});
  });
  judge.claim("counts no runs where a sentence is too short for them", [&] {
    judge.example("a sentence of six words that is right, and one of two");
    compare({split("a b c d e f"), split("x y")}, {split("a b c d e f"), split("x z")});
  });
  judge.claim("does so for any corpus", [&] {
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
