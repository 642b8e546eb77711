// 34 many_machines: the same step on many machines
//
// 25 minutes to read, 20 seconds to run. Needs lesson 20 (the model that sorts) and 03 (optimisers). Afterwards
// you can train a model on any number of machines, estimate the speed-up before you rent them, and resume a
// training run after a machine was lost.
//
// You can rent machines by the hundred, and let them train one model together. Each machine computes
// gradients from its own part of the data. What must the machines send to each other, so that all of them
// have the same model?

#include <vector>

#include "core/core.hpp"
#include "lessons/34_many_machines/link_cost.hpp"
#include "lessons/34_many_machines/ranks.hpp"
#include "lessons/34_many_machines/speed.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "optim/parallel/mpi/mpi.hpp"

using namespace tapestry;
using namespace tapestry::lesson34;

namespace {

// ---- 1. All-reduce in a ring ------------------------------------------------------------------------------
// Processes that work together are called *ranks*, and they have the numbers 0 … R − 1. Each rank has a row
// of n numbers, and every rank needs the sum of all rows. This operation is called an *all-reduce*.
//
// If all ranks send their rows to rank 0, then rank 0 receives R − 1 rows while the others wait. A ring avoids this
// (Patarasuk and Yuan 2009). The right neighbour of rank r is rank r + 1, and that of the last rank is rank 0. Each
// rank cuts its row into R chunks, and sends one chunk at a time to its right neighbour. Here is an example with
// three ranks and three numbers, so a chunk is one number:
//
//                start                 after step 0             after step 1           after the second round
//     rank 0     1    2    3             1    2  303              1  222  303           111  222  333
//     rank 1    10   20   30     →      11   20   30      →      11   20  333     →     111  222  333
//     rank 2   100  200  300           100  220  300            111  220  300           111  222  333
//
// In step s, rank r sends its chunk r − s to the right. All numbers of chunks are modulo R. It adds the chunk that
// it receives from the left to its own chunk r − s − 1. After R − 1 steps, rank r has the sum of chunk r + 1. In
// the example, rank 0 has the sum of chunk 1, which is 222. In the second round, each rank sends the sums on to the
// right. The receiver does not add them, but replaces its own chunk. After R − 1 more steps, all ranks have all
// sums.

void ring(Communicator& ranks, std::span<double> x) {
  const auto size = static_cast<std::size_t>(ranks.size()), me = static_cast<std::size_t>(ranks.rank());
  const int right = static_cast<int>((me + 1) % size), left = static_cast<int>((me + size - 1) % size);
  const std::size_t n = x.size() / size;  // numbers in a chunk
  const auto chunk = [&](std::size_t c) { return x.subspan(c % size * n, n); };
  std::vector<double> came(n);
  for (std::size_t s = 0; s + 1 < size; ++s) {  // + size below: indices are unsigned and must not be negative
    ranks.exchange<double>(right, chunk(me + size - s), left, came);
    for (std::size_t i = 0; i < n; ++i) chunk(me + 2 * size - s - 1)[i] += came[i];
  }
  for (std::size_t s = 0; s + 1 < size; ++s)
    ranks.exchange<double>(right, chunk(me + 1 + size - s), left, chunk(me + size - s));
}

void around(const kit::Options& options, kit::Report& report) {
  const kit::Question thousand =
      report.ask("a thousand ranks",
                 "With two ranks, each rank sends as many numbers as its row has. How many numbers does "
                 "each rank send with a thousand ranks?",
                 {"about 500 times as many as with two ranks", "about twice as many as with two ranks",
                  "fewer than with two ranks, because there are more ranks"});
  const std::vector<double> sums = sums_of(ring, {{1, 2, 3}, {10, 20, 30}, {100, 200, 300}});
  kit::check_worked_example(report, "the ring's sums", {{sums[0], 111}, {sums[1], 222}, {sums[2], 333}});
  report.check("1 to 8 ranks: the sums are right, with the same bits as optim/'s ring",
               same_ring(ring, options.seed));
  const double two = bytes_sent(ring, 2, 6400), many = bytes_sent(ring, 64, 6400);
  report.answer(thousand, 'b', two == 1 && many > 1.9 && many < 2,
                "Each rank sends 2 (R − 1) chunks of n/R numbers. That is less than 2 n numbers, for any "
                "number of ranks.");
}

// In this program, the ranks are threads. Between machines, we use MPI. On Debian, install libopenmpi-dev and
// openmpi-bin before the build. Then mpirun -q -n 2 lessons/run 34 (not as root) runs and times the same
// code.

// ---- 2. One training step on several ranks ----------------------------------------------------------------
// With *data parallelism*, every rank has all the weights and a part of the batch. An *answer* is a symbol that the
// model must predict. Rank r computes L_r, the mean loss over the c_r answers of its part. But we need the gradient
// of the mean over all answers:
//
//     L = Σ_r c_r L_r / Σ_r c_r          so     ∇L = Σ_r c_r ∇L_r / Σ_r c_r
//
// A single all-reduce computes both sums: the row of a rank has all numbers of c_r ∇L_r, followed by c_r. (The mean
// of the ranks' means would be a different loss if the counts differ.) All ranks get the same bits and take the
// same step, so their weights stay the same.

void step(Communicator& ranks, Tape& tape, const std::vector<Tensor>& weights, const Tensor& mean,
          double count, double rate) {
  tape.backward(mean * count);
  std::vector<double> row;
  for (const Tensor& weight : weights)
    for (const double one : weight.grad().to_vector()) row.push_back(one);
  row.push_back(count);
  const std::size_t last = row.size() - 1;
  while (row.size() % static_cast<std::size_t>(ranks.size()) != 0) row.push_back(0);
  ring(ranks, row);
  std::size_t from = 0;
  for (Tensor weight : weights) {
    const auto numbers = static_cast<std::size_t>(weight.count());
    const Tensor sum = tensor(std::span(row).subspan(from, numbers), weight.shape(), weight.dtype());
    assign(weight, weight.detach() - rate * sum / row[last]);
    weight.clear_grad();
    from += numbers;
  }
}

void steps(const kit::Options& options, kit::Report& report) {
  const kit::Question bits =
      report.ask("two ranks and three",
                 "One run has two ranks, and another has three. Everything else is equal. How do their "
                 "weights compare after some steps?",
                 {"they are the same, bit for bit", "they are the same except for rounding",
                  "they are different: other batches, other gradients"});
  const std::vector<Tensor> one = after_steps_alone(options.seed), two = after_steps(2, options.seed),
                            three = after_steps(3, options.seed);
  const double by_hand = kit::farthest(after_steps_by_hand(step, 3, options.seed), one);
  report.check("by hand on 3 ranks: the same weights as one process, to 1e-12", by_hand <= 1e-12);
  report.at_most("optim/'s on 2 ranks: largest difference from one process", kit::farthest(two, one), 1e-12);
  report.check("2 ranks again: the same bits", kit::farthest(after_steps(2, options.seed), two) == 0);
  report.answer(bits, 'b', kit::farthest(two, three) > 0 && kit::farthest(three, one) <= 1e-12,
                "In floating point, a + (b + c) is not exactly (a + b) + c. The ring adds in a fixed "
                "order, but the order depends on the number of ranks.");
}

// optim/parallel cuts the row into *buckets*. The first bucket has the gradients of the last layer, because
// backward computes them first. So this bucket is sent while backward computes the other layers
// (Li and others 2020). Section 4 measures the gain.

// ---- 3. Shared gradients, or averaged weights -------------------------------------------------------------
// Must the ranks communicate at every step? Suppose that four ranks train alone, each on its quarter of every batch,
// and average their weights at the end. That would take only one all-reduce. We try this, and shared gradients at
// every step, with the sorting task from lesson 20.

void averaged_weights(const kit::Options& options, kit::Report& report) {
  const kit::Question average = report.ask(
      "averaged at the end",
      "Four ranks start with different initial weights and train alone. Then we average their "
      "weights. How many strings does the averaged model sort correctly?",
      {"as many as with shared gradients", "about half as many as with shared gradients", "hardly any"});
  const auto sorted = [&](const Training& how) { return percent_sorted(*train(how, options), options); };
  report.at_least("gradients shared at every step: strings sorted", sorted({.ranks = 4}), 95, "%");
  report.at_most("same initial weights, averaged at the end", sorted({.ranks = 4, .independent = true}), 85,
                 "%");
  const double own = sorted({.ranks = 4, .independent = true, .different_initial_weights = true});
  report.at_most("different initial weights, averaged at the end", own, 10, "%");
  report.answer(
      average, 'c', own <= 10,
      "The average of good models need not be a good model. The hidden unit with a given number has "
      "learned different things in different models, and their average has learned none of them.");
}

// At seed 1, with shared gradients, 99.75 % of the strings are sorted. With weights averaged at the end, it
// is 65.35 % if all ranks start from the same weights, and 0 % if they start from different ones. At other
// seeds, the numbers differ, but their order is the same.

// ---- 4. The cost of communication -------------------------------------------------------------------------
// A message takes a *latency* of α seconds, however short it is, and β more seconds for each byte. A ring all-reduce
// has 2 (R − 1) steps, each with 1/R of the bytes:
//
//     t(R) = 2 (R − 1) α + 2 (R − 1)/R · bytes · β
//
// For example, take 4 MB, α = 10 µs and β = 1 ns (1 GB/s). A ring takes 6.06 ms with 4 ranks, and 28.452 ms with
// 1,024 ranks.
//
// The program measures α and β between two threads and predicts the *speed-up*: how many times as many strings per
// second R ranks process, compared with one. There are two cases: each rank has a batch of the full size, or all
// ranks share one batch. The pictures show the fit (ring.svg) and the speed-ups (ranks.svg).
//
// Finally, it trains on a simulated slow network, on which the all-reduce takes half as long as a step. It measures
// for which part of this time a rank waits and does nothing else. If all is sent after backward, the rank waits all
// the time. If buckets are sent during backward, it waits only for the rest.

double seconds_of_ring(const Link& link, int ranks, double bytes) {
  return 2.0 * (ranks - 1) * (link.latency + bytes / ranks * link.per_byte);
}

void communication_cost(const Link& given, const kit::Options& options, kit::Report& report) {
  const kit::Question first =
      report.ask("1,024 ranks", "We train this small model on 1,024 ranks. What limits the speed-up first?",
                 {"the bytes: there are too many", "the latency α: there are too many messages",
                  "nothing, if communication overlaps with backward"});
  kit::check_worked_example(report, "a ring, in milliseconds",
                            {{1e3 * seconds_of_ring({1e-5, 1e-9}, 4, 4e6), 6.06},
                             {1e3 * seconds_of_ring({1e-5, 1e-9}, 1024, 4e6), 28.452}});
  const Link used = given_or_measured(given, seconds_of_ring, options);
  report.figure("α, the latency of a message", 1e6 * used.latency, "µs");
  report.figure("1/β", 1e-9 / used.per_byte, "GB/s");
  const Speeds speeds = speeds_on_threads(2, options);
  draw_speeds(used, speeds, seconds_of_ring, options);
  const bool as_measured = given.latency + given.per_byte == 0,
             messages = 1024 * used.latency > speeds.bytes * used.per_byte;
  report.answer(
      first, 'b', messages || !as_measured,
      "A ring of 1,024 ranks has 2,046 steps, one after the other, each with a latency α. To add along "
      "a tree takes only about 2 log₂ R steps, here 20. Larger batches help too: they need fewer "
      "all-reduces for the same number of strings.");
  const double after = waiting_share(false, options), during = waiting_share(true, options);
  report.at_least("sent after backward: communication time spent waiting", 100 * after, 90, "%");
  report.at_most("buckets sent during backward: communication time spent waiting", 100 * during, 90, "%");
}

// In the example with 1,024 ranks, about 8 of the 28.452 ms are for the bytes, and this part hardly grows with more
// ranks. The part of the latency, 2 (R − 1) α, keeps growing.

// ---- 5. Recovering from a lost rank -----------------------------------------------------------------------
// In every step, each rank waits for messages from the others. If the program of one rank ends or its machine fails,
// these messages never come. So each wait has a timeout. After the timeout, the training run ends with an error.
//
// Rank 0 saves *checkpoints*: the weights, the optimiser's state and the number of the step. The random numbers of
// a batch depend on the seed and the step alone. So a new run with the same number of ranks can resume at the
// checkpoint, and it computes the same bits as a run without the failure. With a different number of ranks, the
// results are the same except for rounding.

void recovery(const kit::Options& options, kit::Report& report) {
  // The rank is lost in step 25 of 30. The last checkpoint is from step 20.
  const FailureResult result = fail_and_resume(options);
  report.check(result.error + "; resumed from the checkpoint: the same bits as a run without the failure",
               result.same_bits);
}

// What to remember. A ring computes the sum of all rows, and no rank sends more than twice its row. Weight the means
// with their counts. Share gradients at every step, and send them while backward runs. With many ranks, the number of
// messages limits the speed-up first. With a checkpoint, a lost rank costs only the steps since the checkpoint.
//
// Exercises: lessons/practise 34 (chunks in a ring; the gradient of a global mean; predicting the speed-up;
// buckets that overlap with backward).

}  // namespace

int main(int argc, char** argv) {
  return run_under_mpi({.timeout = 30}, [&](Communicator& ranks) {
    kit::Lesson program("34_many_machines", "the same step on many machines");
    program.runs_on(ranks);
    program.steps(600, 4);
    double latency = 0, bandwidth = 0;
    program.add("--latency", latency, "latency of your network in µs, for the figure; 0: as measured here", 0,
                1e6);
    program.add("--bandwidth", bandwidth, "bandwidth of your network in GB/s; 0: as measured here", 0, 1e6);
    return program.run(argc, argv, [&](const auto& in, auto& report) {
      if (rank_under_mpi() >= 0) return run_over_mpi(ranks, ring, seconds_of_ring, in, report);
      report.section("All-reduce in a ring");
      around(in, report);
      report.section("One training step on several ranks");
      steps(in, report);
      report.section("Shared gradients, or averaged weights");
      averaged_weights(in, report);
      report.section("The cost of communication");
      communication_cost({1e-6 * latency, bandwidth > 0 ? 1e-9 / bandwidth : 0}, in, report);
      report.section("Recovering from a lost rank");
      recovery(in, report);
    });
  });
}
