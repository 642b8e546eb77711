#include "lessons/31_addressing/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/loss.hpp"

namespace tapestry::lesson31 {
namespace {

constexpr Size kBatch = 32;
constexpr std::uint64_t kTestStreams = 1'000'000;  // far from the training streams

struct Task {
  const char* name;
  Strings (*draw)(kit::Random random, Size rows, Size length);
  Size shortest, longest;   // lengths in training
  bool one_answer = false;  // letters and strings are then the same
};
constexpr Task kCopy{"copy", draw_copy, 1, 10}, kContinue{"continue", draw_continue, kShortest, 10},
    kMarked{"marked", draw_marked, 40, 40, true};

struct Plan {
  const char* name;
  ReaderOptions reader;
  double rate;
};

struct Trained {
  std::unique_ptr<Reader> reader;
  Accuracy right;
};

std::pair<double, double> measure(const Reader& reader, const Task& task, Size length,
                                  const kit::Options& options) {
  const kit::Random random(options.seed, kTestStreams + static_cast<std::uint64_t>(length));
  const Strings strings = task.draw(random, options.smoke ? 5 : 500, length);
  const Indices predicted = argmax(reader(strings));
  return {kit::percent_equal(predicted, strings.answers),
          kit::percent_rows_equal(predicted, strings.answers)};
}

Trained train(const Plan& plan, const Task& task, const kit::Options& options) {
  auto reader = std::make_unique<Reader>(plan.reader);
  reader->initialise(options.seed);
  Size step = 0;
  kit::train(*reader,
             {.name = fmt::format("{}: {}", task.name, plan.name),
              .steps = options.steps,
              .rate = plan.rate,
              .batch = kBatch,
              .seed = options.seed},
             [&](kit::Random random) {
               // The maximum length grows within the first half of training, so the model meets the rule on
               // short strings first. (No effect on kMarked, whose length is fixed.)
               const Size grown = task.shortest + 1 + 2 * task.longest * ++step / options.steps;
               const Size length = random.between(task.shortest, std::min(grown, task.longest));
               const Strings strings = task.draw(random, kBatch, length);
               return cross_entropy((*reader)(strings), strings.answers);
             });
  Accuracy right;
  std::tie(right.letters, right.strings) = measure(*reader, task, task.longest, options);
  std::tie(right.letters_twice, right.strings_twice) = measure(*reader, task, 2 * task.longest, options);
  if (task.one_answer)
    fmt::print("  {:<24}{:>9}{:>13.1f} %{:>13.1f} %\n", plan.name, kit::weights_of(*reader), right.strings,
               right.strings_twice);
  else
    fmt::print("  {:<24}{:>9}{:>12.1f} %{:>10.1f} %{:>12.1f} %{:>10.1f} %\n", plan.name,
               kit::weights_of(*reader), right.letters, right.strings, right.letters_twice,
               right.strings_twice);
  return {std::move(reader), right};
}

void print_heading(const Task& task) {
  if (task.one_answer) {
    fmt::print("  {:<24}{:>9}{:>15}{:>15}\n", task.name, "params", fmt::format("@{}", task.longest),
               fmt::format("@{}", 2 * task.longest));
    return;
  }
  fmt::print("  {:<24}{:>9}{:>14}{:>12}{:>14}{:>12}\n", task.name, "params",
             fmt::format("letters @{}", task.longest), "strings",
             fmt::format("letters @{}", 2 * task.longest), "strings");
}

/// Draws a heatmap of one head's weights on one string: a column per step, a row for each of the first length + 3
/// slots. Head 0 reads, head 1 writes.
void draw_head_weights(const Reader& reader, const Task& task, Size length, Size head,
                       const std::string& title, const std::string& file, const kit::Options& options) {
  const Strings strings = task.draw(kit::Random(options.seed, 7), 1, length);
  const Tensor heads = (*reader.machine)(reader.words(strings)).heads;  // (1, T, 2, N)
  const std::string alphabet = "abcdefghijklmnopqrstuvwxyz012345";
  const auto letters = strings.letters.to_vector(), marks = strings.marks.to_vector();
  kit::Heatmap map{title, {}, {}, {}};
  for (std::size_t t = 0; t < letters.size(); ++t) {
    std::string name = marks[t] == kEnd ? "|" : ".";
    if (letters[t] > 0) name = alphabet[static_cast<std::size_t>(letters[t] - 1)];
    map.columns.push_back(name + (marks[t] == kFrom ? "?" : ""));
  }
  const Size shown = std::min<Size>(length + 3, heads.size(3));
  for (Size n = 0; n < shown; ++n) {
    map.rows.push_back(fmt::format("{}", n));
    for (Size t = 0; t < heads.size(1); ++t) map.values.push_back(heads.at({0, t, head, n}));
  }
  map.column_axis = task.draw == draw_continue ? "input (\"a?\": continue after a; \".\": output a letter)"
                                               : "input (\"|\": end; \".\": output a letter)";
  map.row_axis = "slot";
  kit::show(map, options.out / file);
}

/// Returns the mean weight, in %, that the last step puts on the state of the marked letter.
double weight_on_mark(const Reader& reader, const kit::Options& options) {
  const Size rows = options.smoke ? 5 : 500, length = kMarked.longest;
  const Strings strings = draw_marked(kit::Random(options.seed, kTestStreams), rows, length);
  const Tensor weights = (*reader.lstmn)(reader.words(strings)).weights.back();  // (B, 1, length)
  const auto marks = strings.marks.to_vector();
  double sum = 0;
  for (Size row = 0; row < rows; ++row)
    for (Size t = 0; t < length; ++t)
      if (marks[static_cast<std::size_t>(row * (length + 1) + t)] == kFrom) sum += weights.at({row, 0, t});
  return 100 * sum / static_cast<double>(rows);
}

Plan plan_of(const char* name, NeuralTuringMachineOptions machine, HeadMoves moves) {
  machine.moves = moves;
  return {name, {Kind::machine, machine}, 0.01};
}

}  // namespace

Tensor row(const std::vector<double>& x) { return tensor(x, {1, static_cast<Size>(x.size())}, DType::f64); }

double weight_after_shifts(double sharpness) {
  Tensor w = pad(row({1}), 1, 0, 31);
  for (int step = 0; step < 20; ++step)
    w = sharpen_weights(shift_weights(w, row({0, 0.1, 0.9})), row({sharpness}));
  return w.at({0, 20});
}

void check_row(kit::Report& report, const char* name, const Tensor& row, const std::vector<double>& written) {
  const std::vector<double> computed = row.to_vector();
  std::vector<kit::Written> figures;
  for (std::size_t i = 0; i < written.size(); ++i) figures.push_back({computed.at(i), written[i]});
  kit::check_worked_example(report, name, figures);
}

void check_machine(Tensor (*by_hand)(const Tensor& x, const NeuralTuringMachine& machine), std::uint64_t seed,
                   kit::Report& report) {
  NeuralTuringMachine machine(
      {.in = 2, .hidden = 3, .slots = 5, .width = 3, .readers_start = HeadStart::undecided});
  machine.initialise(seed, DType::f64);
  const Tensor x = variable(random_normal({5, 2}, seed, DType::f64), "x");
  std::vector<Tensor> leaves = machine.parameters();
  leaves.push_back(x);
  kit::check_by_hand(
      report, "five steps of the machine", [&] { return by_hand(x, machine); },
      [&] { return squeeze(machine(unsqueeze(x, 0)).states, 0); }, leaves, seed);
}

void check_lstmn(Tensor (*by_hand)(const Tensor& x, const LSTMN& net), std::uint64_t seed,
                 kit::Report& report) {
  LSTMN net(2, 3, 4);
  net.initialise(seed, DType::f64);
  const Tensor x = variable(random_normal({5, 2}, seed, DType::f64), "x");
  std::vector<Tensor> leaves = net.parameters();
  leaves.push_back(x);
  kit::check_by_hand(
      report, "five steps of the LSTMN", [&] { return by_hand(x, net); },
      [&] { return squeeze(net(unsqueeze(x, 0)).states, 0); }, leaves, seed);
}

CopyAccuracy train_copy(const NeuralTuringMachineOptions& machine, const kit::Options& options,
                        kit::Report& report) {
  print_heading(kCopy);
  const auto machine_at = [&](const char* name, std::uint64_t seed) {
    kit::Options start = options;
    start.seed = seed;
    return train(plan_of(name, machine, HeadMoves::by_both), kCopy, start);
  };
  // About one initialisation in ten fails: the machine writes an average into every slot. If the first run fails, we
  // train again with another seed.
  Trained first = machine_at("machine", options.seed);
  const bool again = first.right.strings < 99 && !options.smoke;
  const Trained both = again ? machine_at("machine, another seed", options.seed + 1000) : std::move(first);
  NeuralTuringMachineOptions undecided = machine;
  undecided.readers_start = undecided.writers_start = HeadStart::undecided;
  if (machine.readers_start != HeadStart::undecided)
    train(plan_of("machine, undecided", undecided, HeadMoves::by_both), kCopy, options);
  const Trained content = train(plan_of("machine, by content only", machine, HeadMoves::by_content), kCopy,
                                options),
                lstm = train({"LSTM", {.kind = Kind::lstm}, 0.01}, kCopy, options),
                lstmn = train({"LSTMN (section 5)", {.kind = Kind::lstmn}, 3e-3}, kCopy, options);
  kit::Chart chart{"Copying after training with up to ten letters", "length of the string",
                   "letters right in %"};
  for (const auto& [name, trained] :
       {std::pair{"machine", &both}, {"machine, by content only", &content}, {"LSTM", &lstm}}) {
    kit::Series series{name};
    for (const Size length : {1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28}) {
      series.x.push_back(static_cast<double>(length));
      series.y.push_back(measure(*trained->reader, kCopy, length, options).first);
    }
    chart.series.push_back(std::move(series));
  }
  kit::show(chart, options.out / "copy.svg");
  draw_head_weights(*both.reader, kCopy, 10, 1, "Copying ten letters: weights of the write head",
                    "writes.svg", options);
  draw_head_weights(*both.reader, kCopy, 10, 0, "Copying ten letters: weights of the read head", "reads.svg",
                    options);
  report.at_least("copy, 10 letters: machine, string accuracy", both.right.strings, 99, "%");
  report.at_least("copy, 20 letters: machine, string accuracy", both.right.strings_twice, 95, "%");
  for (const Size length : {28, 32})
    report.figure(fmt::format("copy, {} letters: machine, string accuracy", length),
                  measure(*both.reader, kCopy, length, options).second, "%");
  report.at_most("copy, 20 letters: LSTM, string accuracy", lstm.right.strings_twice, 1, "%");
  report.at_most("copy, 10 letters: moves by content only, string accuracy", content.right.strings, 30, "%");
  report.at_most("copy, 10 letters: LSTMN, string accuracy", lstmn.right.strings, 10, "%");
  return {both.right, content.right, lstm.right, lstmn.right};
}

ContinueAccuracy train_continue(NeuralTuringMachineOptions machine, const kit::Options& options,
                                kit::Report& report) {
  if (machine.readers_start == HeadStart::stay) machine.readers_start = HeadStart::advance;
  print_heading(kContinue);
  const Trained both = train(plan_of("machine", machine, HeadMoves::by_both), kContinue, options),
                shift = train(plan_of("machine, by shift only", machine, HeadMoves::by_shift), kContinue,
                              options),
                content = train(plan_of("machine, by content only", machine, HeadMoves::by_content),
                                kContinue, options);
  draw_head_weights(*both.reader, kContinue, 14, 0, "Find and continue: weights of the read head",
                    "go_on.svg", options);
  report.at_least("continue, 10 letters: machine, string accuracy", both.right.strings, 97, "%");
  report.at_least("continue, 20 letters: machine, string accuracy", both.right.strings_twice, 90, "%");
  report.at_most("continue, 10 letters: moves by shift only, letter accuracy", shift.right.letters, 30, "%");
  report.at_most("continue, 10 letters: moves by content only, letter accuracy", content.right.letters, 30,
                 "%");
  return {both.right.strings, shift.right.letters, content.right.letters};
}

MarkedAccuracy train_marked(const kit::Options& options, kit::Report& report) {
  print_heading(kMarked);
  const Trained lstmn = train({"LSTMN", {.kind = Kind::lstmn}, 3e-3}, kMarked, options),
                lstm = train({"LSTM", {.kind = Kind::lstm}, 3e-3}, kMarked, options);
  report.at_least("marked, 40 letters: LSTMN, accuracy", lstmn.right.strings, 99, "%");
  report.at_least("marked, 80 letters: LSTMN, accuracy", lstmn.right.strings_twice, 95, "%");
  report.figure("marked, 40 letters: weight on the marked state", weight_on_mark(*lstmn.reader, options),
                "%");
  report.at_most("marked, 40 letters: LSTM, accuracy", lstm.right.strings, 30, "%");
  return {lstmn.right.strings, lstm.right.strings};
}

}  // namespace tapestry::lesson31
