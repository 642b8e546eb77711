// 34 many_machines: the same step on many machines
//
// 25 minutes to read, a minute to run. Needs lesson 20 (the model that sorts) and 03 (optimisers). Afterwards you can
// train a model on any number of machines, say what it will cost before you rent them, and go on after one was lost.
//
// Machines can be had by the hundred. What must they tell each other to train one model together?

#include <vector>

#include "core/core.hpp"
#include "lessons/34_many_machines/ranks.hpp"
#include "lessons/34_many_machines/speed.hpp"
#include "lessons/34_many_machines/wire.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "optim/parallel/mpi/mpi.hpp"

using namespace tapestry;
using namespace tapestry::lesson34;

namespace {

// ---- 1. A ring --------------------------------------------------------------------------------------------
// Machines that work together are called *ranks*, 0 … R − 1. Each has a row of n numbers, and all want the sum of
// all rows: an *all-reduce*. If everybody sends to rank 0, it reads R − 1 rows while the others wait. So cut each
// row in R chunks, and send them round a ring (Patarasuk and Yuan 2009). Three ranks, three numbers, a pencil:
//
//     rank 0     1    2    3             1    2  303              1  222  303           111  222  333
//     rank 1    10   20   30     →      11   20   30      →      11   20  333     →     111  222  333
//     rank 2   100  200  300           100  220  300            111  220  300           111  222  333
//
// In step s, rank r sends its chunk r − s (mod R) to the right, and adds what comes to its chunk r − s − 1. After
// R − 1 steps it has the sum of chunk r + 1. The sums then go round once more, and nothing is added.

void ring(Communicator& ranks, std::span<double> x) {
  const auto size = static_cast<std::size_t>(ranks.size()), me = static_cast<std::size_t>(ranks.rank());
  const int right = static_cast<int>((me + 1) % size), left = static_cast<int>((me + size - 1) % size);
  const std::size_t n = x.size() / size;  // numbers of a chunk
  const auto chunk = [&](std::size_t c) { return x.subspan(c % size * n, n); };
  std::vector<double> came(n);
  for (std::size_t s = 0; s + 1 < size; ++s) {  // + size: so that nothing gets below 0
    ranks.exchange<double>(right, chunk(me + size - s), left, came);
    for (std::size_t i = 0; i < n; ++i) chunk(me + 2 * size - s - 1)[i] += came[i];
  }
  for (std::size_t s = 0; s + 1 < size; ++s)
    ranks.exchange<double>(right, chunk(me + 1 + size - s), left, chunk(me + size - s));
}

void around(const kit::Options& options, kit::Report& report) {
  const kit::Question thousand = report.ask(
      "a thousand ranks", "Of two ranks each sends as many numbers as it has. And among a thousand?",
      {"about 500 times as many", "about twice as many", "fewer: each is only one of a thousand"});
  const std::vector<double> sums = sums_of(ring, {{1, 2, 3}, {10, 20, 30}, {100, 200, 300}});
  kit::check_worked_example(report, "the ring's sums", {{sums[0], 111}, {sums[1], 222}, {sums[2], 333}});
  report.check("1 to 8 ranks: sums of loops, bits of optim/'s ring", same_ring(ring, options.seed));
  const double two = bytes_sent(ring, 2, 6400), many = bytes_sent(ring, 64, 6400);
  report.answer(thousand, 'b', two == 1 && many > 1.9 && many < 2,
                "2 (R − 1) chunks of n/R numbers are never more than 2 n numbers.");
}

// Ranks are threads of this program here. Between machines one uses MPI: on Debian, with libopenmpi-dev and
// openmpi-bin there before the build, mpirun -q -n 2 lessons/run 34 (not as root) runs and times the same code.

// ---- 2. The step ------------------------------------------------------------------------------------------
// Every rank has all weights and a share of the batch (*data parallelism*): the mean loss L_r of its c_r answers.
// The gradient of the mean over all answers is wanted:
//
//     L = Σ_r c_r L_r / Σ_r c_r          so     ∇L = Σ_r c_r ∇L_r / Σ_r c_r
//
// Both sums in one ring: the gradients, and c_r behind them. (The mean of the ranks' means is another loss.) All
// ranks get the same bits, make the same step, and stay the same.

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
  const kit::Question bits = report.ask(
      "two ranks and three", "One run with two ranks, one with three, all else equal. Their weights are",
      {"the same, bit for bit", "the same but for rounding", "different: other batches, other gradients"});
  const std::vector<Tensor> one = after_steps_alone(options.seed), two = after_steps(2, options.seed),
                            three = after_steps(3, options.seed);
  const double by_hand = kit::farthest(after_steps_by_hand(step, 3, options.seed), one);
  report.check("by hand on 3 ranks: the weights of one process to 1e-12", by_hand <= 1e-12);
  report.at_most("optim/'s on 2 ranks, farthest from that", kit::farthest(two, one), 1e-12);
  report.check("2 ranks once more: the same bits", kit::farthest(after_steps(2, options.seed), two) == 0);
  report.answer(bits, 'b', kit::farthest(two, three) > 0 && kit::farthest(three, one) <= 1e-12,
                "a + (b + c) is not quite (a + b) + c. The ring's order is fixed, for one number of ranks.");
}

// optim/parallel cuts the row in *buckets*, the last layer's weights first: backward comes to that layer first, so
// its bucket is on the way while backward goes on (Li and others 2020).

// ---- 3. Every step, or once at the end --------------------------------------------------------------------
// Why talk at every step? Four ranks could train alone, each on its quarter of every batch, and average their
// weights at the end: one ring in all. Lesson 20's sorting shows what comes of it.

void once(const kit::Options& options, kit::Report& report) {
  const kit::Question average = report.ask(
      "averaged at the end", "Four ranks, each with first weights of its own, train alone. The average sorts",
      {"as many strings as with shared gradients", "about half of them", "next to none"});
  const auto sorted = [&](const Training& how) { return percent_sorted(*train(how, options), options); };
  report.at_least("gradients shared at every step: strings sorted", sorted({.ranks = 4}), 95, "%");
  report.at_most("one start, averaged at the end", sorted({.ranks = 4, .apart = true}), 85, "%");
  const double own = sorted({.ranks = 4, .apart = true, .own_start = true});
  report.at_most("own starts, averaged at the end", own, 10, "%");
  report.answer(average, 'c', own <= 10,
                "Halfway between two good models there need not be one: their units do not fit each other.");
}

// ---- 4. What the wire costs -------------------------------------------------------------------------------
// A message takes α seconds, however short, and β for each byte. A ring has 2 (R − 1) steps with 1/R of the bytes:
//
//     t(R) = 2 (R − 1) α + 2 (R − 1)/R · bytes · β
//
// A pencil: 4 MB, α = 10 µs, β = 1 ns (1 GB/s): 6.06 ms with 4 ranks, 28.452 ms with 1,024. Of these bytes take 8 ms,
// and hardly more with more ranks; the messages' part grows. In the table ranks have a batch each, or share one.

double seconds_of_ring(const Wire& wire, int ranks, double bytes) {
  return 2.0 * (ranks - 1) * (wire.latency + bytes / ranks * wire.per_byte);
}

void wire(const Wire& given, const kit::Options& options, kit::Report& report) {
  const kit::Question first = report.ask(
      "1,024 ranks", "This small model on 1,024 ranks: what breaks first?",
      {"bytes: there are too many", "α: too many messages", "nothing, if talk overlaps with backward"});
  kit::check_worked_example(report, "milliseconds of a ring",
                            {{1e3 * seconds_of_ring({1e-5, 1e-9}, 4, 4e6), 6.06},
                             {1e3 * seconds_of_ring({1e-5, 1e-9}, 1024, 4e6), 28.452}});
  const Wire used = measured_or(given, seconds_of_ring, options);
  report.figure("α, a message", 1e6 * used.latency, "µs");
  report.figure("1/β", 1e-9 / used.per_byte, "GB/s");
  const Speeds speeds = speeds_on_threads(2, options);
  draw_speeds(used, speeds, seconds_of_ring, options);
  const bool as_measured = given.latency + given.per_byte == 0,
             messages = 1024 * used.latency > speeds.bytes * used.per_byte;
  report.answer(first, 'b', messages || !as_measured,
                "2,046 messages wait for each other. Trees need 2 log R; larger batches need fewer rings.");
  const double after = waited_share(false, options), during = waited_share(true, options);
  report.at_least("talk after backward: waited for", 100 * after, 90, "%");
  report.at_most("buckets sent during backward: waited for", 100 * during, 90, "%");
}

// ---- 5. A rank dies ---------------------------------------------------------------------------------------
// All wait for all, so one that is lost stops all: each wait has an end, and then the run. Rank 0 keeps a
// *checkpoint*, weights, optimiser and step, and what is drawn depends on seed and step alone. So a new run on as
// many ranks goes on as if nothing had been; on others, but for rounding.

void lost(const kit::Options& options, kit::Report& report) {
  const Loss loss = lose_a_rank(options);  // in step 25 of 30; the last checkpoint is of step 20
  report.check(loss.told + "; from the checkpoint on: the bits of a run without a loss", loss.same_bits);
}

// What to remember. A ring adds up what all have, and nobody sends more than twice its share. Weigh means by their
// counts. Talk at every step, while backward runs; messages break first. A checkpoint makes a loss cheap.
//
// Exercises: lessons/practise 34 (a ring's chunks; means of means; what a step costs; buckets).

}  // namespace

int main(int argc, char** argv) {
  return run_under_mpi({.timeout = 30}, [&](Communicator& ranks) {
    kit::Lesson program("34_many_machines", "the same step on many machines");
    program.runs_on(ranks);
    program.steps(600, 4);
    double latency = 0, bandwidth = 0;
    program.add("--latency", latency, "of your network, in µs, for the figure; 0: as measured here", 0, 1e6);
    program.add("--bandwidth", bandwidth, "of it, in GB/s; 0: as measured here", 0, 1e6);
    return program.run(argc, argv, [&](const auto& in, auto& report) {
      if (rank_under_mpi() >= 0) return over_mpi(ranks, ring, seconds_of_ring, in, report);
      report.section("A ring");
      around(in, report);
      report.section("The step");
      steps(in, report);
      report.section("Every step, or once at the end");
      once(in, report);
      report.section("What the wire costs");
      wire({1e-6 * latency, bandwidth > 0 ? 1e-9 / bandwidth : 0}, in, report);
      report.section("A rank dies");
      lost(in, report);
    });
  });
}
