// The clinic of lesson 07: trains each patient to look values up, and tests it in two ways.
//
// The task: at each pair, the model gets the key of the next pair and has to answer with that pair's value. It may
// use the pairs up to this position. Training uses every position of a string at once: query i asks for the value of
// pair i + 1. So the right answer is in the input, one column further on, and only the mask hides it.
#include "lessons/07_masks/clinic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "optim/adam.hpp"

namespace tapestry::lesson07 {
namespace {

using Ids = std::vector<std::int64_t>;
using Strings = kit::PairStrings;

constexpr Size kColumns = 12, kKeys = 12, kValues = kNothing, kWidth = 32, kBatch = 64;

/// The embeddings of a position's key and value are concatenated. The embedding of the key that is asked for becomes
/// the query, and two heads attend. The readout gets the context and the position's own pair. Only `attend` differs
/// between the patients.
struct Reader : Module {
  explicit Reader(Attend attend_in) : attend(std::move(attend_in)) {}

  Tensor operator()(const Strings& s) const {
    const Tensor pairs = concat({key(Indices(s.keys, s.shape())), value(Indices(s.values, s.shape()))}, -1);
    const Tensor query = to_q(asked(Indices(s.asked, s.shape())));
    return out(concat({attend(query, to_k(pairs), to_v(pairs), s.valid()), pairs}, -1));
  }

  Attend attend;
  Embedding key{{*this, "key"}, kKeys, 16}, value{{*this, "value"}, kValues, 16},
      asked{{*this, "asked"}, kKeys, 16};
  Linear to_q{{*this, "to_q"}, 16, kWidth, Bias::no}, to_k{{*this, "to_k"}, 32, kWidth, Bias::no},
      to_v{{*this, "to_v"}, 32, kWidth, Bias::no};
  Linear out{{*this, "out"}, kWidth + 32, kValues + 1};
};

double share_right(const Tensor& logits, const Ids& expected) {
  const Ids predicted = argmax(logits).to_vector();
  double right = 0, counted = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (expected[i] == kIgnored) continue;
    counted += 1;
    right += predicted[i] == expected[i];
  }
  return 100 * right / counted;
}

/// Returns the percentage of right answers in use: each string is alone, and its last position asks. The strings have
/// pairs, or none. Padding is filled with zeros.
double answers_in_use(const Reader& model, std::uint64_t seed, bool with_pairs, Size count) {
  constexpr std::size_t kLast = kColumns - 1;
  double right = 0;
  Size tried = 0;
  for (std::uint64_t stream = 2'000'000; tried < count; ++stream) {
    Strings s = draw_strings(seed, stream, 1);
    if ((s.pairs[0] > 0) != with_pairs || (with_pairs && !s.known[kLast])) continue;
    ++tried;
    std::int64_t answer = kNothing;
    for (std::size_t j = 0; j < kColumns; ++j) {
      const bool padding = j < static_cast<std::size_t>(kColumns - s.pairs[0]);
      if (padding) s.keys[j] = s.values[j] = 0;
      if (padding && j < kLast) s.asked[j] = 0;
      if (!padding && s.keys[j] == s.asked[kLast]) answer = s.values[j];
    }
    right += argmax(select(model(s), 1, kLast)).to_vector()[0] == answer;
  }
  return 100 * right / static_cast<double>(count);
}

Outcome train_one(const Patient& patient, const kit::Options& options) {
  Reader model(patient.attend);
  model.initialise(options.seed);
  Adam adam(model.parameters(), {.learning_rate = 3e-3});
  Outcome outcome;
  double sum_of_losses = 0;
  kit::Progress progress(options.steps, {.unit = "strings"});
  progress.note(patient.name);
  for (Size step = 1; step <= options.steps; ++step) {
    const Strings strings = draw_strings(options.seed, static_cast<std::uint64_t>(step), kBatch);
    Tape tape;
    const Tensor loss =
        cross_entropy(model(strings), Indices(targets(strings, patient.ahead), strings.shape()));
    tape.backward(loss);
    adam.step();
    progress.step(loss.item(), kBatch);
    if (step > options.steps - 20) sum_of_losses += loss.item();
  }
  progress.finish();
  outcome.loss = sum_of_losses / static_cast<double>(std::min<Size>(20, options.steps));

  const Size batches = options.smoke ? 1 : 8;
  for (Size i = 0; i < batches; ++i) {
    const Strings fresh = draw_strings(options.seed, 1'000'000 + static_cast<std::uint64_t>(i), kBatch);
    outcome.measured +=
        share_right(model(fresh), targets(fresh, patient.ahead)) / static_cast<double>(batches);
  }
  outcome.in_use = answers_in_use(model, options.seed, true, options.smoke ? 10 : 400);
  outcome.empty = answers_in_use(model, options.seed, false, options.smoke ? 10 : 100);
  return outcome;
}

}  // namespace

Strings draw_strings(std::uint64_t seed, std::uint64_t stream, Size rows) {
  return kit::draw_pair_strings(kit::Random(seed, stream), rows, {kColumns, kKeys, kValues});
}

Ids targets(const Strings& strings, Size ahead) {
  Ids result;
  for (Size place = 0; place < strings.rows * kColumns; ++place) {
    const Size column = place % kColumns;
    const bool empty = strings.pairs[static_cast<std::size_t>(place / kColumns)] == 0;
    if (empty && column == kColumns - 1)
      result.push_back(kNothing);
    else if (strings.known[static_cast<std::size_t>(place)] && column < kColumns - 1)
      result.push_back(strings.values[static_cast<std::size_t>(place + ahead)]);
    else
      result.push_back(kIgnored);
  }
  return result;
}

std::vector<Outcome> train_all(const std::vector<Patient>& patients, const kit::Options& options) {
  std::vector<Outcome> all;
  for (const Patient& patient : patients) all.push_back(train_one(patient, options));
  return all;
}

bool two_fail_as_measured(const std::vector<Outcome>& all) {
  const double others =
      std::min({all[1].measured, all[2].measured, all[4].measured, all[6].measured, all[7].measured});
  return all[3].measured <= 20 && all[5].measured <= 70 && others >= 90;
}

bool two_work_in_use(const std::vector<Outcome>& all) {
  return std::min(all[4].in_use, all[6].in_use) >= 99 && all[1].in_use <= 60 &&
         std::max(all[2].in_use, all[7].in_use) <= 15;
}

void draw(const std::vector<Patient>& patients, const std::vector<Outcome>& outcomes,
          const kit::Options& options) {
  kit::Heatmap picture{"Proportion of right answers (in brackets: mean loss of the last 20 steps)",
                       {"as measured", "in use", "no pairs"}};
  picture.numbers = true;
  picture.column_axis = "tests", picture.row_axis = "attentions";
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    picture.rows.push_back(fmt::format("{} ({:.3f})", patients[i].name, outcomes[i].loss));
    for (const double right : {outcomes[i].measured, outcomes[i].in_use, outcomes[i].empty})
      picture.values.push_back(right / 100);
  }
  kit::show(picture, options.out / "clinic.svg");
}

}  // namespace tapestry::lesson07
