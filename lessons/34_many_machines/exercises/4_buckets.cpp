// 34.4 buckets: Buckets that overlap with backward
// design, 25 minutes
//
// A model has 48 layers. Backward computes layer 47 first and layer 0 last. Each layer takes some time, and then its
// gradients are complete. You put consecutive layers into buckets. A bucket is sent when all its layers are complete
// and the previous bucket has been sent. To send it takes 2 (R − 1) (α + bytes/R · β).
//
// You are given the layers (layer 0 first), each with its bytes and the time of its backward in ms, and the network:
// R, α and β in ms. Return the number of layers in each bucket, from the last layer down. The numbers must add up to
// 48.
//
// The step ends when everything is sent. Your score is the time of a step divided by its time with one bucket per
// layer, averaged over four models and networks. They are the same in every run. The score must be at most 0.58.
// Lower is better, and your best score is kept.
#include "lessons/grader/answer.hpp"

struct Layer {
  double bytes, ms;
};
struct Network {
  int ranks;
  double alpha, beta;  // ms per message, ms per byte
};

std::vector<int> buckets(const std::vector<Layer>& layers, const Network& net) {
  //[ how many layers each bucket has, from the last layer down
  //: static_cast<void>(net.ranks);
  //: return std::vector<int>(layers.size(), 1);
  // Dynamic programming: the first i layers of backward end soonest if the layers before their last bucket end soonest.
  // So for each i, try all positions j for the cut before the last bucket.
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
  std::reverse(cut.begin(), cut.end());  // the loop above starts with the last bucket
  return cut;
  //]
}

// start: With one bucket per layer, the latency α counts 48 times. Messages are still being sent long after backward
//   has ended.
//
// hint: One bucket per layer costs 2 (R − 1) α for each layer. A single bucket can start only after backward. What is
//   between these two extremes?
// hint: You know all times before you choose. Simulate the step for buckets of 1, 2, 3, … layers, and take the best.
// hint: The last bucket can only be sent after backward has ended, so it should be small. Dynamic programming finds
//   the best choice. For each i, find the earliest time at which the first i layers of backward can be sent: try all
//   sizes of their last bucket.
//
// wrong: A single bucket is sent after the whole of backward, so nothing overlaps.
// - return cut;
// + return {static_cast<int>(layers.size())};
// wrong: Pairs halve the number of messages, but the best size depends on the network. Simulate the step with its α
//   and β.
// - return cut;
// + return std::vector<int>(layers.size() / 2, 2);
// wrong: Your buckets are in reverse order. The first bucket must have the last layers, where backward starts.
// - std::reverse(cut.begin(), cut.end());
// wrong: You left out the last bucket, so the layers that backward computes last are never sent.
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
    kit::Random random(34);  // the same models in every run, so that results can be compared
    // From a network that is limited by bytes to one that is limited by messages.
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
        judge.that(count > 0, fmt::format("each bucket must have at least one layer, got {}", count),
                   {static_cast<double>(count)});
        judge.that(
            count <= 48 - all,
            fmt::format("the buckets must have 48 layers in all, but after {} layers there is a bucket of {}",
                        all, count),
            {static_cast<double>(all), static_cast<double>(count)});
        all += count;
      }
      judge.that(all == 48,
                 fmt::format("the buckets have {} layers in all, so {} of the 48 layers are never sent", all,
                             48 - all),
                 {static_cast<double>(all)});
      mean += end_of_step(layers, net, cut) / end_of_step(layers, net, std::vector<int>(48, 1)) / 4;
    }
  });
  judge.claim("ends early enough", [&] {
    judge.that(mean <= kLimit,
               fmt::format("your buckets take {:.3f} of the time of single layers; the target is at most {}",
                           mean, kLimit),
               {mean});
    judge.score(mean, "of the time of single layers");
  });
}
