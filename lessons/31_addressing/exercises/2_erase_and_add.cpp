// 31.2 erase_and_add: Gradients of a write
// derive, 20 minutes
//
// A head with the weights w (N) writes to a memory M (N, W). It erases with a vector e (W) and adds a vector a (W).
// You are given G (N, W), the gradient of the loss with respect to the new memory M'. Return the gradients with
// respect to M, w, e and a, without the tape. For single numbers, the write is
//
//     M'_ni = M_ni (1 − w_n e_i) + w_n a_i
#include "lessons/grader/answer.hpp"

struct WriteGradients {
  Tensor memory, w, erase, add;  // (N, W), (N), (W), (W)
};

WriteGradients erase_and_add(const Tensor& memory, const Tensor& w, const Tensor& erase, const Tensor& add,
                             const Tensor& g) {
  const Tensor at = unsqueeze(w, 1);  // (N, 1)
  //[ four derivatives of M'_ni, each times G_ni, summed over what it does not have
  //: static_cast<void>(at), static_cast<void>(memory), static_cast<void>(erase), static_cast<void>(add);
  //: static_cast<void>(g);
  //: return {not_written_yet(), not_written_yet(), not_written_yet(), not_written_yet()};
  return {g * (1 - at * erase),                  // the part that was not erased
          sum(g * (add - memory * erase), {1}),  // w_n affects all numbers of slot n
          -sum(g * memory * at, {0}),            // e_i affects all slots
          sum(g * at, {0})};
  //]
}

// hint: Which numbers of M' depend on w_1: those of row 1, or those of column 1? And which depend on e_1?
// hint: ∂M'_ni/∂w_n = a_i − M_ni e_i. ∂M'_ni/∂e_i = −M_ni ___. Multiply each by G_ni and sum.
// hint: {g * (1 − at * erase), sum(g * (____), {1}), −sum(g * memory * at, {0}), sum(g * at, {0})}
//
// wrong: The erased part does not affect M'. The memory's gradient is G times the part that was kept.
// - return {g * (1 - at * erase),
// + return {g * 1.0,
// wrong: A larger weight also erases more. The term −M ⊙ e is missing in the gradient of w.
// - sum(g * (add - memory * erase), {1}),
// + sum(g * expand(add, memory.shape()), {1}),
// wrong: The sign is wrong: M' has −w e M, so the gradient of e has a minus.
// - -sum(g * memory * at, {0}),
// + sum(g * memory * at, {0}),
// wrong: In M', e is multiplied by M and by w. You left out w.
// - -sum(g * memory * at, {0}),
// + -sum(g * memory, {0}),
// wrong: In M', a is multiplied by w_n. You left out the weights.
// - sum(g * at, {0})};
// + sum(g, {0})};
// wrong: The erase term has the wrong sign in the gradient of w: M' = M − w e M + w a.
// - sum(g * (add - memory * erase), {1}),
// + sum(g * (add + memory * erase), {1}),

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

struct Write {
  Tensor memory, w, erase, add, g;
};

void compare(Judge& judge, const Write& x) {
  const WriteGradients came = erase_and_add(x.memory, x.w, x.erase, x.add, x.g);
  const Tensor memory = variable(x.memory), w = variable(x.w), erase = variable(x.erase),
               add = variable(x.add);
  Tape tape;
  const Tensor at = unsqueeze(w, 1);
  const std::vector<Tensor> expected =
      tape.gradients(sum((memory * (1 - at * erase) + at * add) * x.g), {memory, w, erase, add});
  judge.same(came.add, expected[3], "the gradient of a");
  judge.same(came.memory, expected[0], "the gradient of the memory");
  judge.same(came.erase, expected[2], "the gradient of e");
  judge.same(came.w, expected[1], "the gradient of the head's weights");
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("finds all four gradients for two slots", [&] {
    judge.example(
        "M = ((1, 2), (3, −1)), w = (0.5, 0.2), e = (0.8, 0.4), a = (2, 1), G = ((1, −1), (2, 0.5))");
    const auto vector = [](double one, double two) {
      return tensor(std::vector<double>{one, two}, {2}, DType::f64);
    };
    compare(judge, {tensor({{1, 2}, {3, -1}}, DType::f64), vector(0.5, 0.2), vector(0.8, 0.4), vector(2, 1),
                    tensor({{1, -1}, {2, 0.5}}, DType::f64)});
  });
  judge.claim("finds the tape's gradients for any sizes", [&] {
    judge.each_size({{"slots", 1, 5}, {"width", 1, 4}}, [&](const Sizes& n) {
      compare(judge, {judge.normal({n[0], n[1]}), judge.uniform({n[0]}, 0.1, 0.9),
                      judge.uniform({n[1]}, 0.1, 0.9), judge.normal({n[1]}), judge.normal({n[0], n[1]})});
    });
  });
}
