// 34.4 buckets: cut the gradients so that the wire is never idle, nor busy with trifles
// design, 25 minutes
//
// A model has 48 layers. Backward comes to layer 47 first, and each layer takes its time; then its gradients are
// complete. A bucket is sent when all of its layers are complete and the bucket before it has gone. It takes 2 (R − 1)
// (α + bytes/R · β). Given layers (bytes, and ms of backward, layer 0 first), R, α and β in ms, return how many layers
// each bucket has, from the last layer down; they add up to 48. The step ends when all is sent. Over four models and
// networks, the same each time, ends are compared with those of a ring for each layer: the mean must be at most
// 0.58 of it. Less is better: your best is kept.
#include "lessons/grader/answer.hpp"

struct Layer {
  double bytes, ms;
};
struct Network {
  int ranks;
  double alpha, beta;  // ms a message, ms a byte
};

std::vector<int> buckets(const std::vector<Layer>& layers, const Network& net) {
  //[ how many layers each bucket has, from the last layer down
  //: static_cast<void>(net.ranks);
  //: return std::vector<int>(layers.size(), 1);
  // The first i layers of backward end soonest when those before their last bucket do: each i tries all places
  // for the cut before that bucket.
  std::vector<double> complete{0}, bytes{0}, end{0};
  std::vector<std::size_t> from{0};
  for (std::size_t i = 1; i <= layers.size(); ++i) {
    const Layer& layer = layers[layers.size() - i];
    complete.push_back(complete.back() + layer.ms);
    bytes.push_back(bytes.back() + layer.bytes);
    end.push_back(std::numeric_limits<double>::infinity());
    from.push_back(0);
    for (std::size_t j = 0; j < i; ++j) {
      const double part = (bytes[i] - bytes[j]) / net.ranks;
      const double sent = std::max(end[j], complete[i]) + 2 * (net.ranks - 1) * (net.alpha + part * net.beta);
      if (sent < end[i]) end[i] = sent, from[i] = j;
    }
  }
  std::vector<int> cut;
  for (std::size_t i = layers.size(); i > 0; i = from[i]) cut.push_back(static_cast<int>(i - from[i]));
  std::reverse(cut.begin(), cut.end());  // they were found from the last one that is sent
  return cut;
  //]
}

// start: A bucket for each layer pays α 48 times: the wire is busy with messages long after backward has ended.
//
// hint: One bucket a layer pays 2 (R − 1) α each time. One bucket in all begins only after backward. What is between?
// hint: You know all times before you cut: play the step for buckets of 1, 2, 3, … layers, and take the best.
// hint: What ends the step is the last bucket: what is sent after backward has ended. It should be small, those before
//   large enough. Dynamic programming finds the best cut of all: the earliest end of the first i layers' buckets.
//
// wrong: One bucket is sent only after all of backward: nothing overlaps.
// - return cut;
// + return {static_cast<int>(layers.size())};
// wrong: Pairs halve the messages, but each network has its own best: play the step with its figures.
// - return cut;
// + return std::vector<int>(layers.size() / 2, 2);
// wrong: The sizes are the wrong way round: the first bucket has the last layers, where backward begins.
// - std::reverse(cut.begin(), cut.end());
// wrong: The last bucket is left out: the layers that backward comes to last are never sent.
// - return cut;
// + cut.pop_back();
// + return cut;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

constexpr double kLimit = 0.58;

double end_of_step(const std::vector<Layer>& layers, const Network& net, const std::vector<int>& cut) {
  double complete = 0, sent = 0;
  std::size_t next = layers.size();
  for (const int count : cut) {
    double bytes = 0;
    for (int i = 0; i < count; ++i) {
      --next;
      complete += layers[next].ms;
      bytes += layers[next].bytes;
    }
    sent = std::max(sent, complete) + 2.0 * (net.ranks - 1) * (net.alpha + bytes / net.ranks * net.beta);
  }
  return sent;
}

}  // namespace

void judge(Judge& judge) {
  double mean = 0;
  judge.claim("sends every layer once", [&] {
    kit::Random random(34);  // the same models for all, so that results can be compared
    // From a wire on which bytes count to one on which messages do.
    const std::array<Network, 4> nets{
        {{8, 0.01, 3e-7}, {64, 0.01, 3.5e-7}, {256, 0.01, 3e-7}, {64, 0.1, 2e-7}}};
    for (const Network& net : nets) {
      std::vector<Layer> layers;
      for (int i = 0; i < 48; ++i) {
        const double bytes = random.uniform(1e6, 4e6);
        layers.push_back({bytes, random.uniform(1, 3)});
      }
      const std::vector<int> cut = buckets(layers, net);
      int all = 0;
      for (const int count : cut) {
        judge.that(count > 0, fmt::format("a bucket has {} layers: each has one at least", count),
                   {static_cast<double>(count)});
        judge.that(count <= 48 - all,
                   fmt::format("the buckets have more than the model's 48 layers together: after {} comes a "
                               "bucket of {}",
                               all, count),
                   {static_cast<double>(all), static_cast<double>(count)});
        all += count;
      }
      judge.that(all == 48,
                 fmt::format("the buckets have {} layers together: {} of 48 are never sent", all, 48 - all),
                 {static_cast<double>(all)});
      mean += end_of_step(layers, net, cut) / end_of_step(layers, net, std::vector<int>(48, 1)) / 4;
    }
  });
  judge.claim("ends soon", [&] {
    judge.that(mean <= kLimit,
               fmt::format("your buckets end after {:.3f} of the time of single layers, and {} is wanted",
                           mean, kLimit),
               {mean});
    judge.score(mean, "of the time of single layers");
  });
}
