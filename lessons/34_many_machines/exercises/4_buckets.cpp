// 34.4 buckets: cut the gradients so that the wire is never idle, nor busy with trifles
// design, 25 minutes
//
// A model has 48 layers. Backward comes to layer 47 first, and each layer takes its time; then its gradients are
// complete. A bucket is sent when all of its layers are complete and the bucket before it has gone. It takes 2 (R − 1)
// (α + bytes/R · β). Given layers (bytes, and ms of backward, layer 0 first), R, α and β in ms, return how many layers
// each bucket has, from the last layer down; they add up to 48. The step ends when all is sent. Over four models and
// networks that the judge draws, ends are compared with those of a ring for each layer: the mean must be at most
// 0.6 of it. Less is better: your best is kept.
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
  // Tries every number of equal buckets, and keeps the best, by the same account as the task's.
  const auto end_of = [&](std::size_t size) {
    double complete = 0, sent = 0, bytes = 0;
    for (std::size_t done = 1; done <= layers.size(); ++done) {
      const Layer& layer = layers[layers.size() - done];
      complete += layer.ms;
      bytes += layer.bytes;
      if (done % size != 0 && done != layers.size()) continue;
      sent = std::max(sent, complete) + 2.0 * (net.ranks - 1) * (net.alpha + bytes / net.ranks * net.beta);
      bytes = 0;
    }
    return sent;
  };
  std::size_t best = 1;
  for (std::size_t size = 2; size <= layers.size(); ++size)
    if (end_of(size) < end_of(best)) best = size;
  std::vector<int> cut(layers.size() / best, static_cast<int>(best));
  if (layers.size() % best != 0) cut.push_back(static_cast<int>(layers.size() % best));
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
// - if (end_of(size) < end_of(best)) best = size;
// + best = size;
// wrong: Pairs halve the messages, but each network has its own best: play the step with its figures.
// - for (std::size_t size = 2; size <= layers.size(); ++size)
// + for (std::size_t size = 2; size <= 2; ++size)
// wrong: The buckets do not add up to the layers: the rest behind the last whole bucket is forgotten.
// - std::vector<int> cut(layers.size() / best, static_cast<int>(best));
// + std::vector<int> cut(layers.size() / (best + 1), static_cast<int>(best));
// - if (layers.size() % best != 0) cut.push_back(static_cast<int>(layers.size() % best));

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

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
  bool whole = true;
  // From a wire on which bytes count to one on which messages do.
  const std::array<Network, 4> nets{
      {{8, 0.01, 3e-7}, {64, 0.01, 3.5e-7}, {256, 0.01, 3e-7}, {64, 0.1, 2e-7}}};
  for (const Network& net : nets) {
    std::vector<Layer> layers;
    for (int i = 0; i < 48; ++i)
      layers.push_back({judge.random().uniform(1e6, 4e6), judge.random().uniform(1, 3)});
    const std::vector<int> cut = buckets(layers, net);
    int all = 0;
    for (const int count : cut) {
      whole = whole && count > 0;
      all += count;
    }
    whole = whole && all == 48;
    if (whole) mean += end_of_step(layers, net, cut) / end_of_step(layers, net, std::vector<int>(48, 1)) / 4;
  }
  judge.claim("sends every layer once",
              [&] { judge.that(whole, "the buckets do not have 48 layers together", {}); });
  judge.claim("ends soon", [&] {
    judge.that(
        mean <= 0.6,
        fmt::format("your buckets end after {:.3f} of the time of single layers, and 0.6 is wanted", mean),
        {std::round(mean * 10)});
    judge.score(mean, "of the time of single layers");
  });
}
