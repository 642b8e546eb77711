// Trains translators of dates with three forcing ratios. Measures the effect of one wrong digit, and draws the
// alignments.
#include "lessons/14_dates/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/train/loop.hpp"
#include "lessons/kit/translation/corpus.hpp"

namespace tapestry::lesson14 {
namespace {

using kit::DatePart, kit::DateText, kit::Ids, kit::Translation, kit::Words;

constexpr const char* kDigitNames[] = {"Y1", "Y2", "Y3", "Y4", "M1", "M2", "D1"};
constexpr std::size_t kFirstOfMonth = 4;  // of kWrongDigits

TranslatorOptions sizes(Size source, Size target, Size embedding, Size hidden) {
  return {{.vocabulary = source, .embedding = embedding, .hidden = hidden},
          {.vocabulary = target,
           .embedding = embedding,
           .hidden = 2 * hidden,
           .attention = 2 * hidden,
           .readout = 2 * hidden}};
}

std::string joined(const Words& characters) {
  return std::accumulate(characters.begin(), characters.end(), std::string());
}

struct Batch {
  kit::Padded sources;
  kit::Forcing words;
};

Batch encode(const Dates& dates) {
  const kit::Vocabulary characters = kit::date_characters(), digits = kit::date_digits();
  std::vector<Ids> sources, targets;
  for (const DateText& date : dates) {
    sources.push_back(characters.encode_source(date.source));
    targets.push_back(digits.encode_target(date.target));
  }
  return {kit::pad(sources), kit::teacher_forcing(kit::pad(targets))};
}

/// Returns the outputs of a model in free decoding.
std::vector<Translation> decode_freely(Translator& model, const Dates& dates) {
  std::vector<Words> sources;
  for (const DateText& date : dates) sources.push_back(date.source);
  return kit::translate(model, kit::date_characters(), kit::date_digits(), sources,
                        {.max_length = 12, .batch = 250});
}

double exact_match(Translator& model, const Dates& dates) {
  const std::vector<Translation> written = decode_freely(model, dates);
  double right = 0;
  for (std::size_t i = 0; i < dates.size(); ++i) right += written[i].words == dates[i].target;
  return 100 * right / static_cast<double>(dates.size());
}

/// Draws the alignment of one date to alignment.svg.
void draw_alignment(Translator& model, const kit::Options& options) {
  kit::Random random(options.seed, 5'000'000);
  const DateText title = kit::write_date(kit::kExampleDay, 0, 12, random);
  kit::Heatmap map = kit::alignment_picture(decode_freely(model, {title}).front(), "Alignment of one date");
  map.column_axis = "characters of the source", map.row_axis = "characters written";
  kit::show(map, options.out / "alignment.svg");
}

/// Returns the decoder's output, one row of ids for each step. Its inputs are target characters up to `place`.
/// There the input is the next digit in the order 0 … 9, 0. From then on, the inputs are the decoder's own
/// outputs.
std::vector<Ids> decode_with_wrong_digit(const Translator& model, const Batch& batch, Size place) {
  const Encoded source = model.encoder(kit::indices(batch.sources), kit::valid_lengths(batch.sources));
  const PreparedKV memory = model.decoder.prepare(source);
  DecoderState state = model.decoder.start(source);
  const Indices given = kit::indices(batch.words.input);
  std::vector<Ids> all;
  Indices words = given.column(0);
  for (Size t = 0; t < batch.words.output.columns; ++t) {
    const Indices written = argmax(model.decoder.step(words, state, memory).logits);
    all.push_back(written.to_vector());
    words = t < place ? given.column(t + 1) : written;
    if (t == place) {
      Ids wrong = given.column(t + 1).to_vector();
      for (std::int64_t& id : wrong) id = kit::kEnd + 1 + (id - kit::kEnd) % 10;
      words = Indices(wrong, {static_cast<Size>(wrong.size())});
    }
  }
  return all;
}

}  // namespace

Small::Small(std::uint64_t seed)
    : model(sizes(8, 7, 3, 2)), right(Ids{kit::kStart, 5, 4, 6, 5, 6, kit::kStart, 6, 6, 4, 5, 4}, {2, 6}) {
  model.initialise(seed, DType::f64);
}

Encoded Small::read() const {
  const kit::Padded source = kit::pad({{4, 5, 6, 7, kit::kEnd}, {6, 4, kit::kEnd}});
  return model.encoder(kit::indices(source), kit::valid_lengths(source));
}

double bias_gradient_error(const Small& small, const std::function<Tensor()>& logits) {
  Tape tape;
  const Tensor last = select(select(logits(), 0, 0), 0, small.right.shape()[1] - 1);
  return kit::largest(tape.gradients(sum(last), {small.model.decoder.output.bias})[0] - 1);
}

Dates test_dates(const kit::Options& options) {
  for (const DateText& date : kit::draw_dates(kit::Random(options.seed, 4'000'000), 6, true, options.seed))
    fmt::print("  {:>50} → {}\n", joined(date.source), joined(date.target));
  return kit::draw_dates(kit::Random(options.seed, 1'000'000), options.smoke ? 20 : 1000, true, options.seed);
}

double Trained::steps_to_half() const {
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    if (curve.y[i] < 50) continue;
    if (i == 0) return curve.x[0];
    const double share = (50 - curve.y[i - 1]) / (curve.y[i] - curve.y[i - 1]);
    return curve.x[i - 1] + share * (curve.x[i] - curve.x[i - 1]);
  }
  return std::nan("");
}

Trained train_with(double ratio, const kit::Options& options) {
  constexpr Size kBatch = 64;
  Trained trained{
      ratio,
      std::make_unique<Translator>(sizes(kit::date_characters().size(), kit::date_digits().size(), 32, 32)),
      {fmt::format("ratio {}", ratio), {}, {}}};
  const std::vector<DateText> watched =
      kit::draw_dates(kit::Random(options.seed, 2'000'000), options.smoke ? 10 : 250, true, options.seed);
  const Size pause = std::max<Size>(1, options.steps / 25);
  const auto watch = [&](Size step) {
    if (step % pause != 0) return;
    trained.curve.x.push_back(static_cast<double>(step));
    trained.curve.y.push_back(exact_match(*trained.model, watched));
  };
  trained.model->initialise(options.seed);
  const double seconds = kit::train(
      *trained.model,
      {.name = trained.curve.name,
       .steps = options.steps,
       .rate = 5e-3,
       .batch = kBatch,
       .unit = "dates",
       .seed = options.seed,
       .after_step = watch},
      [&](kit::Random random) {
        const Batch batch = encode(kit::draw_dates(random, kBatch, false, options.seed));
        const Tensor logits = (*trained.model)(kit::indices(batch.sources), kit::valid_lengths(batch.sources),
                                               kit::indices(batch.words.input), ratio);
        return cross_entropy(logits, kit::indices(batch.words.output));
      });
  trained.seconds_per_step = seconds / static_cast<double>(options.steps);
  return trained;
}

double exact_match(const Trained& trained, const Dates& dates) { return exact_match(*trained.model, dates); }

ErrorRecovery measure_recovery(const Trained& trained, const Dates& dates) {
  const Evaluating evaluating(*trained.model);
  const Batch batch = encode(dates);
  const kit::Padded& targets = batch.words.output;
  ErrorRecovery recovery;
  double months = 0, valid = 0;
  for (const Size place : kWrongDigits) {
    const std::vector<Ids> written = decode_with_wrong_digit(*trained.model, batch, place);
    double right = 0;
    for (Size row = 0; row < targets.rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      bool rest = true;
      for (Size t = place + 1; t < targets.columns; ++t)
        rest = rest && written[static_cast<std::size_t>(t)][at] == targets.at(row, t);
      right += rest;
      const Size digit = targets.at(row, 6) - kit::kEnd - 1;  // the month's second digit
      if (place != kWrongDigits[kFirstOfMonth] || dates[at].target[5] != "0" || digit < 3) continue;
      months += 1;
      const Size second = written[6][at] - kit::kEnd - 1;
      valid += second >= 0 && second <= 2;
    }
    recovery.rest_right.push_back(right / static_cast<double>(targets.rows));
    recovery.mean += 100 * recovery.rest_right.back() / static_cast<double>(std::size(kWrongDigits));
  }
  recovery.month = 100 * recovery.rest_right[kFirstOfMonth];
  recovery.valid_months = 100 * valid / months;
  return recovery;
}

void draw_curves(const std::vector<Trained>& all, const kit::Options& options) {
  kit::Chart chart{"Exact match at three forcing ratios",
                   "training steps",
                   "exact match in free decoding, in %",
                   {},
                   {{99, "target"}}};
  for (const Trained& trained : all) chart.series.push_back(trained.curve);
  kit::show(chart, options.out / "ratios.svg");
  fmt::print("   ratio   steps to 50 %    ms/step\n");
  for (const Trained& trained : all) {
    const double half = trained.steps_to_half();
    fmt::print("   {:5}   {:>13}   {:9.1f}\n", trained.ratio,
               std::isnan(half) ? "not reached" : fmt::format("{:.0f}", half),
               1000 * trained.seconds_per_step);
  }
}

void draw_recovery(const std::vector<Trained>& all, const std::vector<ErrorRecovery>& recovery,
                   const kit::Options& options) {
  kit::Heatmap map{"Fraction of dates whose rest is right after one wrong digit", {}, {}, {}, 0, 1, true};
  map.column_axis = "the wrong digit of the year, month or day", map.row_axis = "forcing ratio in training";
  for (const char* digit : kDigitNames) map.columns.emplace_back(digit);
  for (const Trained& trained : all) map.rows.push_back(trained.curve.name);
  for (const ErrorRecovery& each : recovery)
    map.values.insert(map.values.end(), each.rest_right.begin(), each.rest_right.end());
  kit::show(map, options.out / "slips.svg");
}

AlignmentStatistics measure_alignments(const Trained& trained, const Dates& dates,
                                       const kit::Options& options) {
  const std::vector<Translation> written = decode_freely(*trained.model, dates);
  kit::Heatmap map{
      "Mean weights of digits on parts of the source", {}, {"year", "month", "day"}, {}, 0, 1, true};
  map.column_axis = "parts of the source", map.row_axis = "digits written";
  for (const char* part : kit::kDatePartNames) map.columns.emplace_back(part);
  map.columns.emplace_back("<end>");
  const std::size_t columns = map.columns.size();
  map.values.assign(map.rows.size() * columns, 0);
  std::vector<double> digits(map.rows.size(), 0);
  double named = 0, on_three = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i].words != dates[i].target) continue;
    for (const std::size_t t : {0U, 1U, 2U, 3U, 5U, 6U, 8U, 9U}) {
      const std::size_t row = t < 4 ? 0 : t < 7 ? 1 : 2;
      const std::vector<double>& weights = written[i].alignment[t];
      digits[row] += 1;
      std::vector<double> letters;  // weights of the month's letters
      for (std::size_t j = 0; j < weights.size(); ++j) {
        const std::size_t part = j < dates[i].parts.size() ? static_cast<std::size_t>(dates[i].parts[j]) : 5;
        map.values[row * columns + part] += weights[j];
        if (part == static_cast<std::size_t>(DatePart::month)) letters.push_back(weights[j]);
      }
      if (row != 1 || letters.size() < 7) continue;
      std::sort(letters.begin(), letters.end(), std::greater<>());
      named += std::accumulate(letters.begin(), letters.end(), 0.0);
      on_three += letters[0] + letters[1] + letters[2];
    }
  }
  for (std::size_t i = 0; i < map.values.size(); ++i) map.values[i] /= digits[i / columns];
  kit::show(map, options.out / "parts.svg");
  draw_alignment(*trained.model, options);
  const auto weight = [&](std::size_t row, DatePart part) {
    return 100 * map.values[row * columns + static_cast<std::size_t>(part)];
  };
  return {weight(1, DatePart::month),
          std::max({weight(0, DatePart::stray), weight(1, DatePart::stray), weight(2, DatePart::stray)}),
          100 * on_three / named};
}

}  // namespace tapestry::lesson14
