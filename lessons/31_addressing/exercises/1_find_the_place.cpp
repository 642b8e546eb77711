// 31.1 find_the_place: Addressing by content and by shift
// implement, 20 minutes
//
// Compute the four steps of section 1 for H heads at once. The heads have the weights `before` (H, N) over the slots
// of a memory M (N, W). They receive keys k (H, W), strengths β (H, 1), gates g (H, 1), shift weights s (H, 3) for
// −1, 0 and 1 slots, and sharpnesses γ (H, 1). Return the new weights of the heads, (H, N):
//
//     c = softmax over slots of β cos(k, M_n)        w' = g c + (1 − g) before
//     w''_n = Σ_j s_j w'_{n−j}, j = −1, 0, 1; slot 0 follows slot N − 1        w = (w'')^γ, divided by its sum
//
// unit(x) divides each row by its norm. roll(w, j) moves each weight by j slots: roll(w, 1)_n = w_{n−1}. Add 10⁻⁸ to
// w'' before you take its logarithm, because some weights can be 0.
#include "lessons/grader/answer.hpp"

Tensor unit(const Tensor& x) { return x / sqrt(sum(x * x, {-1}, Keep::yes) + 1e-8); }

/// w (H, N); j is 1 or −1.
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
  const Tensor content = softmax(strength * cosine, -1);             // β makes the choice clear
  const Tensor gated = gate * content + (1 - gate) * before;         // g = 0: stay
  const Tensor back = s(0) * roll(gated, -1), on = s(2) * roll(gated, 1);
  const Tensor moved = back + s(1) * gated + on;
  const Tensor powers = exp(sharpness * log(moved + 1e-8));
  return powers / sum(powers, {-1}, Keep::yes);  // the weights of each head sum to 1
  //]
}

// hint: Write four lines, one for each step. What is the shape of the table of cosines, and along which axis is the
//   softmax?
// hint: matmul(unit(key), transpose(unit(____))) is (H, N). For a power with a different exponent for each head, use
//   exp(γ log x).
// hint: moved = s(0) * roll(gated, −1) + s(1) * gated + s(2) * roll(gated, __).
//
// wrong: The slots are not unit vectors. In a cosine both vectors have norm 1, so a slot with large numbers is not
//   more similar to the key.
// - const Tensor cosine = matmul(unit(key), transpose(unit(memory)));
// + const Tensor cosine = matmul(unit(key), transpose(memory));
// wrong: The key is not a unit vector, so its norm acts as a second β. In a cosine both vectors have norm 1.
// - const Tensor cosine = matmul(unit(key), transpose(unit(memory)));
// + const Tensor cosine = matmul(key, transpose(unit(memory)));
// wrong: That is a plain dot product. In a cosine both vectors have norm 1, the key and the slot.
// - const Tensor cosine = matmul(unit(key), transpose(unit(memory)));
// + const Tensor cosine = matmul(key, transpose(memory));
// wrong: The strength β is missing in the softmax. A cosine is at most 1, so no slot gets much more weight than
//   others.
// - const Tensor content = softmax(strength * cosine, -1);
// + static_cast<void>(strength);
// + const Tensor content = softmax(cosine, -1);
// wrong: Your softmax is over the heads, so the weights of a head do not sum to 1. It must be over the slots, the
//   last axis.
// - const Tensor content = softmax(strength * cosine, -1);
// + const Tensor content = softmax(strength * cosine, 0);
// wrong: The gate is the wrong way round. With g = 1 the head goes to the content weights, and with g = 0 it stays.
// - const Tensor gated = gate * content + (1 - gate) * before;
// + const Tensor gated = gate * before + (1 - gate) * content;
// wrong: You exchanged the two directions. s(2) is the weight that moves one slot on: to n from n − 1.
// - const Tensor back = s(0) * roll(gated, -1), on = s(2) * roll(gated, 1);
// + const Tensor back = s(0) * roll(gated, 1), on = s(2) * roll(gated, -1);
// wrong: You shifted the weights from before the gate. The shift must start from the gate's result.
// - const Tensor back = s(0) * roll(gated, -1), on = s(2) * roll(gated, 1);
// + const Tensor back = s(0) * roll(before, -1), on = s(2) * roll(before, 1);
// wrong: You shifted the content weights and then applied the gate. The gate comes first, so weight that stays is
//   shifted too.
// - const Tensor gated = gate * content + (1 - gate) * before;
// - const Tensor back = s(0) * roll(gated, -1), on = s(2) * roll(gated, 1);
// - const Tensor moved = back + s(1) * gated + on;
// + const Tensor back = s(0) * roll(content, -1), on = s(2) * roll(content, 1);
// + const Tensor moved = gate * (back + s(1) * content + on) + (1 - gate) * before;
// wrong: You sharpened before the shift, so the shift's blur remains. γ comes last.
// - const Tensor back = s(0) * roll(gated, -1), on = s(2) * roll(gated, 1);
// - const Tensor moved = back + s(1) * gated + on;
// - const Tensor powers = exp(sharpness * log(moved + 1e-8));
// + const Tensor sharp = exp(sharpness * log(gated + 1e-8));
// + const Tensor powers = s(0) * roll(sharp, -1) + s(1) * sharp + s(2) * roll(sharp, 1);
// wrong: You left out γ, so the shift's blur is not removed.
// - const Tensor powers = exp(sharpness * log(moved + 1e-8));
// + static_cast<void>(sharpness);
// + const Tensor powers = moved + 1e-8;
// wrong: That is e to the power of γ w'', not w'' to the power of γ. The logarithm is missing.
// - const Tensor powers = exp(sharpness * log(moved + 1e-8));
// + const Tensor powers = exp(sharpness * moved);
// wrong: Without the 10⁻⁸, a slot of weight 0 has the logarithm −∞. The power is still 0, but the gradients are NaN.
// - const Tensor powers = exp(sharpness * log(moved + 1e-8));
// + const Tensor powers = exp(sharpness * log(moved));
// wrong: After the power, the weights no longer sum to 1. Divide them by their sum.
// - return powers / sum(powers, {-1}, Keep::yes);
// + return powers;
// wrong: You divided by the sum over all heads. The weights of each head must sum to 1.
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
             "the new weights of the heads", 1e-7);
}

Tensor column(const std::vector<double>& numbers) {
  return tensor(numbers, {static_cast<Size>(numbers.size()), 1}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  const Tensor memory = tensor({{2, 0}, {0, 3}, {0, 1}, {0, -1}}, DType::f64);
  const Tensor before = tensor({{0, 0, 1, 0}}, DType::f64), stay = tensor({{0, 1, 0}}, DType::f64);
  judge.claim("finds slots by content", [&] {
    judge.example("M = ((2, 0), (0, 3), (0, 1), (0, −1)), k = (1, 0.5), β = 2, g = 1, no shift, γ = 1");
    compare(judge,
            {memory, before, tensor({{1, 0.5}}, DType::f64), column({2}), column({1}), stay, column({1})});
  });
  judge.claim("applies the gate, shifts and sharpens", [&] {
    judge.example(
        "not the chapter's numbers: M = ((2, 0), (0, 3), (0, 1), (0, −1)), before = (0, 0, 1, 0), k = (1, 0), "
        "β = ln 3, g = 0.25, s = (0.1, 0.2, 0.7), γ = 2");
    compare(judge, {memory, before, tensor({{1, 0}}, DType::f64), column({std::log(3)}), column({0.25}),
                    tensor({{0.1, 0.2, 0.7}}, DType::f64), column({2})});
  });
  judge.claim("works for any number of heads and slots", [&] {
    judge.each_size({{"heads", 1, 3}, {"slots", 3, 6}, {"width", 1, 4}}, [&](const Sizes& n) {
      const Tensor raw = judge.uniform({n[0], n[1]}, 0.1, 1), shift = judge.uniform({n[0], 3}, 0.1, 1);
      compare(judge, {judge.normal({n[1], n[2]}), raw / sum(raw, {-1}, Keep::yes), judge.normal({n[0], n[2]}),
                      judge.uniform({n[0], 1}, 0.5, 4), judge.uniform({n[0], 1}, 0.1, 0.9),
                      shift / sum(shift, {-1}, Keep::yes), judge.uniform({n[0], 1}, 1.1, 3)});
    });
  });
  judge.claim("has finite gradients where a slot's weight is 0", [&] {
    judge.example("before = (0, 0, 1, 0), g = 0, so that slot 0 gets no weight");
    const Tensor key = tensor({{1, 0.5}}, DType::f64);
    judge.gradients(
        [&](const Tensor& shift, const Tensor& sharpness) {
          return find_the_place(memory, before, key, column({2}), column({0}), shift, sharpness);
        },
        {tensor({{0.1, 0.2, 0.7}}, DType::f64), column({2})});
  });
}
