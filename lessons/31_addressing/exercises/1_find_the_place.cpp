// 31.1 find_the_place: by content, then by shift
// implement, 20 minutes
//
// Heads stand on a memory M (N, W) with weights `before` (H, N). Each says a key k (H, W), a strength β and a gate g
// (H, 1), a shift s (H, 3) for one slot back, none, one on, and a sharpness γ (H, 1). Return where they are then, (H, N):
//
//     c = softmax over slots of β cos(k, M_n)        w' = g c + (1 − g) before
//     w''_n = Σ_j s_j w'_{n−j}, j = −1, 0, 1, the ends joined        w = (w'')^γ, divided by its sum
//
// unit(x) makes rows of length 1, and roll(w, j) takes each weight j slots on: roll(w, 1)_n = w_{n−1}. Add 10⁻⁸ to w''
// before its logarithm: a head may stand on one slot alone.
#include "lessons/grader/answer.hpp"

Tensor unit(const Tensor& x) { return x / sqrt(sum(x * x, {-1}, Keep::yes) + 1e-8); }

/// w (H, N), j = 1 or −1
Tensor roll(const Tensor& w, int j) {
  const Size cut = j > 0 ? w.size(1) - 1 : 1;
  return concat({slice(w, 1, cut, w.size(1)), slice(w, 1, 0, cut)}, 1);
}

Tensor find_the_place(const Tensor& memory, const Tensor& before, const Tensor& key, const Tensor& strength,
                      const Tensor& gate, const Tensor& shift, const Tensor& sharpness) {
  const auto s = [&](Size column) { return slice(shift, 1, column, column + 1); };  // (H, 1)
  //[ content, gate, shift, sharpen
  //: static_cast<void>(s), static_cast<void>(memory), static_cast<void>(before), static_cast<void>(key);
  //: static_cast<void>(strength), static_cast<void>(gate), static_cast<void>(sharpness);
  //: return not_written_yet();
  const Tensor cosine = matmul(unit(key), transpose(unit(memory)));  // (H, N)
  const Tensor content = softmax(strength * cosine, -1);             // β inside: it sharpens the choice
  const Tensor gated = gate * content + (1 - gate) * before;         // g = 0: stay
  const Tensor back = s(0) * roll(gated, -1), on = s(2) * roll(gated, 1);
  const Tensor moved = back + s(1) * gated + on;
  const Tensor powers = exp(sharpness * log(moved + 1e-8));
  return powers / sum(powers, {-1}, Keep::yes);  // of each head
  //]
}

// hint: Four lines, one for each move. Of which shape is the table of cosines, and along which axis is the softmax?
// hint: matmul(unit(key), transpose(unit(____))) is (H, N). A power with an exponent of its own for each head is
//   exp(γ log x).
// hint: moved = s(0) * roll(gated, −1) + s(1) * gated + s(2) * roll(gated, __).
//
// wrong: A cosine has unit rows on both sides: a slot with large numbers is not more like the key.
// - const Tensor cosine = matmul(unit(key), transpose(unit(memory)));
// + const Tensor cosine = matmul(unit(key), transpose(memory));
// wrong: A cosine has unit rows on both sides: here the key's length acts as a second β.
// - const Tensor cosine = matmul(unit(key), transpose(unit(memory)));
// + const Tensor cosine = matmul(key, transpose(unit(memory)));
// wrong: That is a plain dot product. A cosine has unit rows on both sides, the key's and the slots'.
// - const Tensor cosine = matmul(unit(key), transpose(unit(memory)));
// + const Tensor cosine = matmul(key, transpose(memory));
// wrong: The strength is missing in the softmax: cosines are 1 at most, and no slot stands out.
// - const Tensor content = softmax(strength * cosine, -1);
// + static_cast<void>(strength);
// + const Tensor content = softmax(cosine, -1);
// wrong: The softmax runs over the heads: of one head all slots then get 1. It runs over the slots, the last axis.
// - const Tensor content = softmax(strength * cosine, -1);
// + const Tensor content = softmax(strength * cosine, 0);
// wrong: The gate is the wrong way round: g = 1 goes where the content is, g = 0 stays.
// - const Tensor gated = gate * content + (1 - gate) * before;
// + const Tensor gated = gate * before + (1 - gate) * content;
// wrong: Back and on are exchanged: s(2) is the share that goes one slot on, to n from n − 1.
// - const Tensor back = s(0) * roll(gated, -1), on = s(2) * roll(gated, 1);
// + const Tensor back = s(0) * roll(gated, 1), on = s(2) * roll(gated, -1);
// wrong: The head moves from where it was before, not from where the gate has put it.
// - const Tensor back = s(0) * roll(gated, -1), on = s(2) * roll(gated, 1);
// + const Tensor back = s(0) * roll(before, -1), on = s(2) * roll(before, 1);
// wrong: The content was shifted, then the gate: the gate comes first, and where a head stays is shifted, too.
// - const Tensor gated = gate * content + (1 - gate) * before;
// - const Tensor back = s(0) * roll(gated, -1), on = s(2) * roll(gated, 1);
// - const Tensor moved = back + s(1) * gated + on;
// + const Tensor back = s(0) * roll(content, -1), on = s(2) * roll(content, 1);
// + const Tensor moved = gate * (back + s(1) * content + on) + (1 - gate) * before;
// wrong: It was sharpened before the shift, whose blur then stays: γ comes last.
// - const Tensor back = s(0) * roll(gated, -1), on = s(2) * roll(gated, 1);
// - const Tensor moved = back + s(1) * gated + on;
// - const Tensor powers = exp(sharpness * log(moved + 1e-8));
// + const Tensor sharp = exp(sharpness * log(gated + 1e-8));
// + const Tensor powers = s(0) * roll(sharp, -1) + s(1) * sharp + s(2) * roll(sharp, 1);
// wrong: γ is left out: the shift's blur is not taken away again.
// - const Tensor powers = exp(sharpness * log(moved + 1e-8));
// + static_cast<void>(sharpness);
// + const Tensor powers = moved + 1e-8;
// wrong: That is e to the power of γ w'', not w'' to the power of γ: the logarithm is missing.
// - const Tensor powers = exp(sharpness * log(moved + 1e-8));
// + const Tensor powers = exp(sharpness * moved);
// wrong: Without 10⁻⁸ a slot of weight 0 has the logarithm −∞: the power still comes out as 0, but gradients are NaN.
// - const Tensor powers = exp(sharpness * log(moved + 1e-8));
// + const Tensor powers = exp(sharpness * log(moved));
// wrong: After the power the weights no longer sum to 1: divide by their sum.
// - return powers / sum(powers, {-1}, Keep::yes);
// + return powers;
// wrong: You divided by the sum over all heads: each head's own weights sum to 1.
// - return powers / sum(powers, {-1}, Keep::yes);
// + return powers / sum(powers);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

struct Heads {
  Tensor memory, before, key, strength, gate, shift, sharpness;
};

Tensor by_loops(const Heads& x) {
  const Size heads = x.before.size(0), slots = x.before.size(1), width = x.memory.size(1);
  const auto at = [](Size i) { return static_cast<std::size_t>(i); };
  std::vector<double> all;
  for (Size h = 0; h < heads; ++h) {
    std::vector<double> w, moved(at(slots));
    double total = 0;
    for (Size n = 0; n < slots; ++n) {
      double both = 0, of_key = 1e-8, of_slot = 1e-8;
      for (Size i = 0; i < width; ++i) {
        both += x.key.at({h, i}) * x.memory.at({n, i});
        of_key += x.key.at({h, i}) * x.key.at({h, i});
        of_slot += x.memory.at({n, i}) * x.memory.at({n, i});
      }
      w.push_back(std::exp(x.strength.at({h, 0}) * both / std::sqrt(of_key * of_slot)));
      total += w.back();
    }
    const double g = x.gate.at({h, 0});
    for (Size n = 0; n < slots; ++n) w[at(n)] = g * w[at(n)] / total + (1 - g) * x.before.at({h, n});
    for (Size n = 0; n < slots; ++n)
      for (Size j = -1; j <= 1; ++j) moved[at((n + j + slots) % slots)] += x.shift.at({h, j + 1}) * w[at(n)];
    total = 0;
    for (double& weight : moved) total += weight = std::pow(weight + 1e-8, x.sharpness.at({h, 0}));
    for (const double weight : moved) all.push_back(weight / total);
  }
  return tensor(all, {heads, slots}, DType::f64);
}

void compare(Judge& judge, const Heads& x) {
  judge.same(find_the_place(x.memory, x.before, x.key, x.strength, x.gate, x.shift, x.sharpness), by_loops(x),
             "where the heads are", 1e-7);
}

Tensor column(const std::vector<double>& numbers) {
  return tensor(numbers, {static_cast<Size>(numbers.size()), 1}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  const Tensor memory = tensor({{2, 0}, {0, 3}, {0, 1}, {0, -1}}, DType::f64);
  const Tensor before = tensor({{0, 0, 1, 0}}, DType::f64), stay = tensor({{0, 1, 0}}, DType::f64);
  judge.claim("finds by content", [&] {
    judge.example("M = ((2, 0), (0, 3), (0, 1), (0, −1)), k = (1, 0.5), β = 2, g = 1, no shift, γ = 1");
    compare(judge,
            {memory, before, tensor({{1, 0.5}}, DType::f64), column({2}), column({1}), stay, column({1})});
  });
  judge.claim("obeys the gate, moves and sharpens", [&] {
    judge.example(
        "not the chapter's numbers: M = ((2, 0), (0, 3), (0, 1), (0, −1)), before = (0, 0, 1, 0), k = (1, 0), "
        "β = ln 3, g = 0.25, s = (0.1, 0.2, 0.7), γ = 2");
    compare(judge, {memory, before, tensor({{1, 0}}, DType::f64), column({std::log(3)}), column({0.25}),
                    tensor({{0.1, 0.2, 0.7}}, DType::f64), column({2})});
  });
  judge.claim("does so for any number of heads and slots", [&] {
    judge.each_size({{"heads", 1, 3}, {"slots", 3, 6}, {"width", 1, 4}}, [&](const Sizes& n) {
      const Tensor raw = judge.uniform({n[0], n[1]}, 0.1, 1), shift = judge.uniform({n[0], 3}, 0.1, 1);
      compare(judge, {judge.normal({n[1], n[2]}), raw / sum(raw, {-1}, Keep::yes), judge.normal({n[0], n[2]}),
                      judge.uniform({n[0], 1}, 0.5, 4), judge.uniform({n[0], 1}, 0.1, 0.9),
                      shift / sum(shift, {-1}, Keep::yes), judge.uniform({n[0], 1}, 1.1, 3)});
    });
  });
  judge.claim("has gradients where a slot's weight is 0, too", [&] {
    judge.example("before = (0, 0, 1, 0), g = 0, so that nothing comes to slot 0");
    const Tensor key = tensor({{1, 0.5}}, DType::f64);
    judge.gradients(
        [&](const Tensor& shift, const Tensor& sharpness) {
          return find_the_place(memory, before, key, column({2}), column({0}), shift, sharpness);
        },
        {tensor({{0.1, 0.2, 0.7}}, DType::f64), column({2})});
  });
}
