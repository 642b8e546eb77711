// 14 dates: what the decoder is fed: forcing and its cost
//
// "21st of november 2026" → 2026-11-21, whatever the way in which the date is written, and with up to twenty
// stray characters before it. Lesson 11's translator does it, character by character. The question of this
// lesson is what a decoder is fed while it learns: the right character before (teacher forcing, ratio 1), the
// one it wrote itself (ratio 0), or whichever a coin says (a ratio between).
//
// You will: 1 mix the two inputs with a coin, and check what gradient comes through; 2 make dates; 3 train
// the same model with three ratios, and see what each costs and what it buys; 4 see where it looked.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "core/core.hpp"
#include "core/tensor/random.hpp"
#include "lessons/14_dates/dates.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/train/loop.hpp"
#include "lessons/kit/translation/corpus.hpp"
#include "nn/seq2seq/seq2seq.hpp"

using namespace tapestry;
using kit::Ids;
using kit::largest;
using kit::Translation;
using kit::Words;

namespace {

// ---- 1. A coin for every word -----------------------------------------------------------------------------
//
// With teacher forcing the decoder learns in a world where every word before is right. When it writes alone,
// it is fed what it wrote, mistakes too, and has never seen such a thing: the *exposure bias*. Bengio,
// Vinyals, Jaitly and Shazeer (2015) proposed *scheduled sampling*. Toss a coin for each row and each step:
//
//     input_t = the right word y_{t−1}       with probability `ratio`
//             = argmax of logits_{t−1}       otherwise
//
// The target stays y_t. (In a language that can be wrong: after another word another one may follow. A date
// has one right character at each place, whatever stands before it.)
//
// Whatever the ratio, words now come one at a time: the input of a step is not known before the step before
// it is done. With ratio 1 all are known, and what needs no recurrence, embeddings and logits, is one matrix
// product for the whole sequence. That is the first part of the cost.

// The coins come from next_stream(), a row of random numbers that nobody else draws. set_random(seed, step)
// says at which training step a program stands, and each call takes the step's next row: so one seed gives
// one result. (Dropout draws in the same way, and kit::train sets seed and step.)

/// right (B, T): <start> y_1 … → logits (B, T, V). One step of the decoder is lesson 11's.
Tensor write(const BahdanauDecoder& decoder, const Encoded& source, const Indices& right, double ratio) {
  const AttentionMemory memory = decoder.prepare(source);
  DecoderState state = decoder.start(source);
  std::vector<Tensor> logits;
  for (Size t = 0; t < right.shape()[1]; ++t) {
    Ids input = right.column(t).to_vector();
    if (t > 0) {  // <start> is always given
      const Stream coins = next_stream();
      const Ids own = argmax(logits.back()).to_vector();
      for (std::size_t row = 0; row < input.size(); ++row)
        if (coins.uniform(row) >= ratio) input[row] = own[row];
    }
    logits.push_back(decoder.step(Indices(input, {right.shape()[0]}), state, memory).logits);
  }
  return stack(logits, 1);
}

// What gradient does a choice have? argmax gives a whole number. Move the logits a little and it stays where
// it was, so its derivative is 0 wherever it has one, and on the tape nothing leads from the chosen id back
// to the logits. The *vector* of the chosen word gets a gradient like any other, and the state carries one
// from step to step; but no gradient says "had you chosen otherwise at t−1, t would have gone better".
// Central differences agree, since they see the same flat steps: gradcheck passes at any ratio. It does not
// say that the choice has no effect, only that a derivative cannot see it.

TranslatorOptions sizes(Size source, Size target, Size embedding, Size hidden) {
  return {{.vocabulary = source, .embedding = embedding, .hidden = hidden},
          {.vocabulary = target,
           .embedding = embedding,
           .hidden = 2 * hidden,
           .attention = 2 * hidden,
           .readout = 2 * hidden}};
}

void show_mixing(std::uint64_t seed, kit::Report& report) {
  Translator model(sizes(8, 7, 3, 2));
  model.initialise(seed, DType::f64);
  const kit::Padded source = kit::pad({{4, 5, 6, 7, kit::kEnd}, {6, 4, kit::kEnd}});
  const kit::Forcing words =
      kit::teacher_forcing(kit::pad({{2, 5, 4, 6, 5, 6, kit::kEnd}, {2, 6, 6, 4, 5, 4, kit::kEnd}}));
  const Indices right = kit::indices(words.input), wanted = kit::indices(words.output);
  const auto read = [&] { return model.encoder(kit::indices(source), kit::valid_lengths(source)); };
  const Tensor forced = model.decoder(right, read());
  for (const double ratio : {1.0, 0.5, 0.0}) {
    set_random(seed, 1);  // the same coins for both
    const Tensor ours = write(model.decoder, read(), right, ratio);
    set_random(seed, 1);
    const Tensor library = model.decoder(right, read(), ratio);
    const GradcheckResult check =
        gradcheck([&] { return cross_entropy(write(model.decoder, read(), right, ratio), wanted); }, {},
                  model.parameters());
    if (!check.ok()) fmt::print("{}", check.report());
    fmt::print("  ratio {:3}: nn/'s logits differ by {:.0e}; those of ratio 1 by {:.2f}\n", ratio,
               largest(ours - library), largest(ours - forced));
    report.check(fmt::format("  nn/ gives the same; gradcheck, {} derivatives", check.compared),
                 check.ok() && largest(ours - library) < 1e-12);
  }
}

// ---- 2. Dates ---------------------------------------------------------------------------------------------
//
// kit::draw_dates makes them: the hundred years 1970 to 2069, so that a year of two digits is one year only,
// in ten forms. Day before month where both are numbers. The stray characters are letters and signs, no
// digits: what stands before "1/11/26" must not make it "21/11/26". Since they come first, no part of the
// date has a fixed place. One day in ten is kept out of training, drawn by its number. A model that has
// learned days by heart fails on those; one that has learned how dates are written does not notice. The
// title's own day is kept out, too.

using kit::DateText, kit::DatePart;

std::string joined(const Words& characters) {
  std::string text;
  for (const std::string& character : characters) text += character;
  return text;
}

void show_dates(std::uint64_t seed) {
  for (const DateText& text : kit::draw_dates(kit::Random(seed, 4'000'000), 6, true, seed))
    fmt::print("  {:>50} → {}\n", joined(text.source), joined(text.target));
}

// ---- 3. Three ratios --------------------------------------------------------------------------------------
//
// The same model, the same first weights, the same dates in the same order; only what the decoder is fed
// differs. Now and then we let each write unseen dates freely, which is the only figure that can be compared:
// the loss of ratio 1 belongs to an easier task than the loss of ratio 0.
//
// At first a decoder writes nonsense, and ratio 0 feeds it nothing but that: its curve rises last. That is
// the second part of the cost. It is small here, where a character depends on the source far more than on the
// character before; where text has to be fluent it is not, and the paper begins with ratio 1 and lowers it
// slowly.

struct Texts {
  kit::Vocabulary source = kit::date_characters(), target = kit::date_digits();
};

/// In per cent. A date counts if all its ten characters are right, and <end> follows.
double exact_match(Translator& model, const Texts& texts, const std::vector<DateText>& examples,
                   std::vector<Translation>* written = nullptr) {
  std::vector<Words> sources;
  for (const DateText& example : examples) sources.push_back(example.source);
  std::vector<Translation> translations =
      kit::translate(model, texts.source, texts.target, sources, {.max_length = 12, .batch = 250});
  double right = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) right += translations[i].words == examples[i].target;
  if (written != nullptr) *written = std::move(translations);
  return 100 * right / static_cast<double>(examples.size());
}

struct Batch {
  kit::Padded sources;
  kit::Forcing words;
};

Batch encode(const std::vector<DateText>& examples, const Texts& texts) {
  std::vector<Ids> sources, targets;
  for (const DateText& example : examples) {
    sources.push_back(texts.source.encode_source(example.source));
    targets.push_back(texts.target.encode_target(example.target));
  }
  return {kit::pad(sources), kit::teacher_forcing(kit::pad(targets))};
}

struct Trained {
  Trained(double ratio_in, const Texts& texts)
      : ratio(ratio_in),
        model(sizes(texts.source.size(), texts.target.size(), 32, 32)),
        curve{fmt::format("ratio {}", ratio_in), {}, {}} {}

  double ratio;
  Translator model;
  kit::Series curve;  // exact match of free decoding against steps
};

void train(Trained& trained, const Texts& texts, const kit::Options& options) {
  constexpr Size kBatch = 64;
  const std::vector<DateText> watched =
      kit::draw_dates(kit::Random(options.seed, 2'000'000), options.smoke ? 10 : 250, true, options.seed);
  const Size pause = std::max<Size>(1, options.steps / 25);
  const auto watch = [&](Size step) {
    if (step % pause != 0) return;
    trained.curve.x.push_back(static_cast<double>(step));
    trained.curve.y.push_back(exact_match(trained.model, texts, watched));
  };
  trained.model.initialise(options.seed);
  kit::train(trained.model,
             {.name = trained.curve.name,
              .steps = options.steps,
              .rate = 5e-3,
              .batch = kBatch,
              .unit = "dates",
              .seed = options.seed,
              .after_step = watch},
             [&](kit::Random random) {
               const Batch batch = encode(kit::draw_dates(random, kBatch, false, options.seed), texts);
               const Tensor logits =
                   trained.model(kit::indices(batch.sources), kit::valid_lengths(batch.sources),
                                 kit::indices(batch.words.input), trained.ratio);
               return cross_entropy(logits, kit::indices(batch.words.output));
             });
}

/// The step at which the curve crosses `level`, interpolated; NaN if it never does.
double steps_to(double level, const kit::Series& curve) {
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    if (curve.y[i] < level) continue;
    if (i == 0) return curve.x[0];
    const double share = (level - curve.y[i - 1]) / (curve.y[i] - curve.y[i - 1]);
    return curve.x[i - 1] + share * (curve.x[i] - curve.x[i - 1]);
  }
  return std::nan("");
}

// And what does a lower ratio buy? In free decoding all three end at the same place: a model that makes no
// mistakes is never fed one. So we make one for it. Put a wrong digit into the input at one place, let the
// decoder go on alone, and count how often the rest of the date is right. The source still says what is
// right, but a model that was only ever fed right characters has no reason to doubt what it is fed. The
// place to look at is the first digit of the month. Fed a 1 in July, it takes the month for one of 10, 11
// and 12, and the second digit follows from that.
//
// Ratio 0 is no sure cure, and what is left of it differs from seed to seed. As soon as the model writes
// without mistakes it is fed none, and training is teacher forcing under another name: what the first hundred
// steps taught can fade.

constexpr Size kDigits[] = {0, 1, 2, 3, 5, 6, 8};  // of 2026-11-21; after a slip at the last nothing is left
constexpr const char* kDigitNames[] = {"Y1", "Y2", "Y3", "Y4", "M1", "M2", "D1"};
constexpr std::size_t kFirstOfMonth = 4;

/// The share of dates whose rest is right after a wrong digit at `place`.
double after_a_slip(const Translator& model, const Texts& texts, const std::vector<DateText>& examples,
                    Size place) {
  const Batch batch = encode(examples, texts);
  const Encoded source = model.encoder(kit::indices(batch.sources), kit::valid_lengths(batch.sources));
  const AttentionMemory memory = model.decoder.prepare(source);
  DecoderState state = model.decoder.start(source);
  const Indices given = kit::indices(batch.words.input);
  std::vector<bool> right(examples.size(), true);
  Indices words = given.column(0);
  for (Size t = 0; t < batch.words.output.columns; ++t) {
    const Indices written = argmax(model.decoder.step(words, state, memory).logits);
    const Ids now = written.to_vector();
    if (t > place)
      for (std::size_t row = 0; row < right.size(); ++row)
        if (now[row] != batch.words.output.at(static_cast<Size>(row), t)) right[row] = false;
    words = written;
    if (t < place) words = given.column(t + 1);
    if (t == place) {  // another digit, the next one in the order 0 … 9, 0
      Ids wrong = given.column(t + 1).to_vector();
      for (std::int64_t& id : wrong) id = kit::kEnd + 1 + (id - kit::kEnd) % 10;
      words = Indices(wrong, {static_cast<Size>(wrong.size())});
    }
  }
  return static_cast<double>(std::count(right.begin(), right.end(), true)) /
         static_cast<double>(right.size());
}

// ---- 4. Where it looked -----------------------------------------------------------------------------------
//
// Nobody told the model which characters are the year. Yet its digits look at them, and the month's two
// digits, which are written nowhere in "november", look at the letters that tell this month from the others.
// Stray characters get next to nothing.

/// The mean weight that the digits of year, month and day put on each part of the source.
kit::Heatmap looks(const std::vector<DateText>& examples, const std::vector<Translation>& written) {
  kit::Heatmap map{"Where the digits looked", {}, {"year", "month", "day"}, {}, 0, 1, true};
  for (const char* part : kit::kDatePartNames) map.columns.emplace_back(part);
  map.columns.emplace_back("<end>");
  map.values.assign(map.rows.size() * map.columns.size(), 0);
  std::vector<double> digits(map.rows.size(), 0);
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i].words != examples[i].target) continue;
    for (const std::size_t t : {0U, 1U, 2U, 3U, 5U, 6U, 8U, 9U}) {
      const std::size_t row = t < 4 ? 0 : t < 7 ? 1 : 2;
      const std::vector<double>& weights = written[i].alignment[t];
      digits[row] += 1;
      for (std::size_t j = 0; j < weights.size(); ++j) {
        const std::size_t part =
            j < examples[i].parts.size() ? static_cast<std::size_t>(examples[i].parts[j]) : 5;
        map.values[row * map.columns.size() + part] += weights[j];
      }
    }
  }
  for (std::size_t i = 0; i < map.values.size(); ++i) map.values[i] /= digits[i / map.columns.size()];
  return map;
}

void show_ratios(const Texts& texts, std::deque<Trained>& all, const std::vector<DateText>& test,
                 const kit::Options& options, kit::Report& report) {
  kit::Chart chart{
      "What the decoder is fed in training", "steps", "exact match of free decoding, in %", {}, {}};
  kit::Heatmap slips{"Share of dates whose rest is right after one wrong digit", {}, {}, {}, 0, 1, true};
  for (const char* digit : kDigitNames) slips.columns.emplace_back(digit);
  std::vector<double> half, mean, month;
  for (const double ratio : {1.0, 0.5, 0.0}) {
    Trained& trained = all.emplace_back(ratio, texts);
    train(trained, texts, options);
    chart.series.push_back(trained.curve);
    half.push_back(steps_to(50, trained.curve));
    report.at_least(fmt::format("ratio {}: exact match on unseen dates", ratio),
                    exact_match(trained.model, texts, test), 99, "%");
    slips.rows.push_back(trained.curve.name);
    double sum = 0;
    for (const Size place : kDigits) {
      slips.values.push_back(after_a_slip(trained.model, texts, test, place));
      sum += slips.values.back();
    }
    mean.push_back(100 * sum / static_cast<double>(std::size(kDigits)));
    month.push_back(100 * slips.values[slips.values.size() - std::size(kDigits) + kFirstOfMonth]);
  }
  chart.levels.push_back({99, "target"});
  kit::show(chart, options.out / "ratios.svg");
  kit::show(slips, options.out / "slips.svg");
  fmt::print("                           rest right after a wrong digit\n");
  fmt::print("   ratio   steps to 50 %    at any place   month's first digit\n");
  for (std::size_t i = 0; i < all.size(); ++i)
    fmt::print("   {:5}   {:13.0f}   {:11.1f} %   {:16.1f} %\n", all[i].ratio, half[i], mean[i], month[i]);
  report.at_least("steps that ratio 0 needs more than 1, to 50 %", half[2] - half[0], 10);
  report.at_least("ratio 0.5 over ratio 1, first digit of month", month[1] - month[0], 10, "points");
}

void show_looks(Trained& trained, const Texts& texts, const std::vector<DateText>& test,
                const kit::Options& options, kit::Report& report) {
  std::vector<Translation> written;
  exact_match(trained.model, texts, test, &written);
  const kit::Heatmap map = looks(test, written);
  kit::show(map, options.out / "parts.svg");
  const std::size_t columns = map.columns.size();
  report.at_least("weight of the month's digits on the month",
                  100 * map.values[columns + static_cast<std::size_t>(DatePart::month)], 50, "%");
  kit::Random random(options.seed, 5'000'000);
  const DateText title = kit::write_date(kit::kTitleDay, 0, 12, random);
  exact_match(trained.model, texts, {title}, &written);
  kit::show(kit::alignment_picture(written.front(), "Where each character looked"),
            options.out / "alignment.svg");
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A coin for every word");
  show_mixing(options.seed, report);

  report.section("Dates");
  show_dates(options.seed);

  report.section("Three ratios");
  const Texts texts;
  const std::vector<DateText> test =
      kit::draw_dates(kit::Random(options.seed, 1'000'000), options.smoke ? 20 : 1000, true, options.seed);
  std::deque<Trained> all;
  show_ratios(texts, all, test, options, report);

  report.section("Where it looked");
  show_looks(all.front(), texts, test, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("14_dates", "what the decoder is fed: forcing and its cost");
  program.steps(400, 4);
  return program.run(argc, argv, lesson);
}
