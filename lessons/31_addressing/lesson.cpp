// 31 addressing: a memory you write to
//
// 20 minutes to read, 50 seconds to run. Needs lessons 06 (queries, keys, values), 09 (LSTM and GRU) and 30 (a
// memory as a matrix). Afterwards you can build a memory whose slots have places, move about in it by content and
// by shift, and say which of the two a task needs.
//
// Copy a string: read it to its end, then say it again. You would write the letters in a row, go back to the first,
// and read: a rule that is as good for twenty letters as for ten. Can a network with a sheet of paper learn it?

#include <cmath>

#include "core/core.hpp"
#include "lessons/31_addressing/experiment.hpp"

using namespace tapestry;
using namespace tapestry::lesson31;

namespace {

// ---- 1. Four moves to a place -----------------------------------------------------------------------------
// The sheet is a *memory* M (N, W): N *slots*, rows of W numbers. A *head* stands somewhere on it: w, N weights
// that sum to 1. (A pointer to one slot would have no derivative.) In the *neural Turing machine* of Graves, Wayne
// and Danihelka (2014) a head gets from where it was, w_{t−1}, to w_t in four moves:
//
//     content    c_n = softmax over n of β cos(k, M_n)       key k, strength β > 0: look for what is like k
//     gate       w' = g c + (1 − g) w_{t−1}                  g in [0, 1]: go there, or stay
//     shift      w''_n = Σ_j s_j w'_{n−j}, j = −1, 0, 1      s sums to 1: a slot back, none, on; the ends are joined
//     sharpen    w_n = (w''_n)^γ / Σ_m (w''_m)^γ             γ ≥ 1: take the blur away again
//
// A cosine is 1 at most: without β softmax could not choose. With a pencil: M = ((2, 0), (0, 3), (0, 1), (0, −1)),
// the head was on slot 2. k = (1, 0), β = ln 3, g = 0.5, s = (0, 0.2, 0.8), γ = 2:
//     slot           0        1        2        3
//     cosine         1        0        0        0
//     content       0.5      0.167    0.167    0.167
//     gate          0.25     0.083    0.583    0.083
//     shift         0.117    0.217    0.183    0.483
//     sharpen       0.042    0.143    0.103    0.713

Tensor roll(const Tensor& heads, int by) {  // (H, N), one slot on, for `by` 1, or back, for −1
  const Size cut = by > 0 ? heads.size(1) - 1 : 1;
  return concat({slice(heads, 1, cut, heads.size(1)), slice(heads, 1, 0, cut)}, 1);
}

/// For H heads at once: memory (N, W), before (H, N), key (H, W), shift (H, 3), the others (H, 1).
Tensor find_place(const Tensor& memory, const Tensor& before, const Addressing& how) {
  const auto unit = [](const Tensor& x) { return x / sqrt(sum(x * x, {-1}, Keep::yes) + 1e-8); };
  const Tensor content = softmax(how.strength * matmul(unit(how.key), transpose(unit(memory))), -1);
  const Tensor gated = how.gate * content + (1 - how.gate) * before;
  const auto s = [&](Size i) { return slice(how.shift, 1, i, i + 1); };
  const Tensor shifted = s(0) * roll(gated, -1) + s(1) * gated + s(2) * roll(gated, 1);
  const Tensor powers = exp(how.sharpness * log(shifted + 1e-8));  // 0 has no logarithm
  return powers / sum(powers, {-1}, Keep::yes);
}

void pencil(kit::Report& report) {
  const auto place = [&](double g, const std::vector<double>& s, double gamma) {
    return find_place(tensor({{2, 0}, {0, 3}, {0, 1}, {0, -1}}, DType::f64), row({0, 0, 1, 0}),
                      {row({1, 0}), row({std::log(3)}), row({g}), row(s), row({gamma})});
  };
  check_row(report, "content", place(1, {0, 1, 0}, 1), {0.5, 0.167, 0.167, 0.167});
  check_row(report, "gate", place(0.5, {0, 1, 0}, 1), {0.25, 0.083, 0.583, 0.083});
  check_row(report, "shift", place(0.5, {0, 0.2, 0.8}, 1), {0.117, 0.217, 0.183, 0.483});
  check_row(report, "sharpen", place(0.5, {0, 0.2, 0.8}, 2), {0.042, 0.143, 0.103, 0.713});
  const kit::Question blur = report.ask(
      "twenty steps",
      "From one of many slots, twenty times s = (0, 0.1, 0.9), g = 0, γ = 1. How much is on the right slot?",
      {"0.9", "about a half", "about an eighth"});
  report.check_quoted("on the right slot, γ = 1", walked(1), 0.12, 0.02);
  report.check_quoted("on the right slot, γ = 2", walked(2), 0.98, 0.01);
  report.answer(blur, 'c', std::abs(walked(1) - 0.125) < 0.01,
                "0.9 to the power of 20. γ = 2 keeps 0.98: each step's blur goes before the next.");
}

// ---- 2. A machine around it -------------------------------------------------------------------------------
// A *writing* head erases with e in [0, 1]^W and adds a; a *reading* head reads as attention does:
//     M_n ← M_n ⊙ (1 − w_n e) + w_n a          r = Σ_n w_n M_n
//
// A *controller*, here a GRU, sees the input and what was last read. A linear layer, the *interface*, makes of its
// state all that the heads are told. Every slot begins with the same numbers, which are learned (blank).

Tensor run_machine(const Tensor& x, const NeuralTuringMachine& net) {  // x (T, in); one head of each kind
  const Size slots = net.options().slots, width = net.options().width;
  Tensor memory = expand(net.blank, {slots, width}), read = zeros({1, width}, x.dtype()), h;
  Tensor heads = pad(ones({2, 1}, x.dtype()), 1, 0, slots - 1);  // row 0 reads, 1 writes; both on slot 0
  std::vector<Tensor> out;
  for (Size t = 0; t < x.size(0); ++t) {
    h = net.controller(concat({slice(x, 0, t, t + 1), read}, 1), h).hidden;
    const Tensor all = linear(h, net.interface_weight, net.interface_bias);
    Size next = 0;
    const auto take = [&](Size rows, Size columns) {  // the next numbers of the interface
      next += rows * columns;
      return reshape(slice(all, 1, next - rows * columns, next), {rows, columns});
    };
    const Addressing how{take(2, width), softplus(take(2, 1)), sigmoid(take(2, 1)), softmax(take(2, 3), -1),
                         1 + softplus(take(2, 1))};  // both heads: k, β, g, s, γ
    const Tensor erase = sigmoid(take(1, width)), add = take(1, width);
    heads = find_place(memory, heads, how);
    const Tensor w = transpose(slice(heads, 0, 1, 2));  // (N, 1): the writing head
    memory = memory * (1 - matmul(w, erase)) + matmul(w, add);
    read = matmul(slice(heads, 0, 0, 1), memory);
    out.push_back(concat({h, read}, 1));
  }
  return concat(out, 0);
}

// ---- 3. Copy, longer than trained -------------------------------------------------------------------------
// One to ten letters, "end", then as often "say"; at first strings are short. Nobody tells the heads what to do.
// But biases give them a *habit*: the writer steps on, the reader stays, γ is large (--start undecided: none).

Right copy(const NeuralTuringMachineOptions& machine, const kit::Options& options, kit::Report& report) {
  const kit::Question twice = report.ask(
      "twenty letters", "All were trained with ten letters at most. Which copies strings of twenty?",
      {"the machine", "the machine, and an LSTM with more weights", "none: nobody showed them any"});
  const Copied copied = train_copy(machine, options, report);
  report.answer(twice, 'a', copied.machine.strings_twice >= 95 && copied.lstm.strings_twice <= 1,
                "Write, step on; then read, step on: nothing in it knows the length. Slots end it, at 32.");
  return copied.lstmn;
}

// ---- 4. Find the place, then go on ------------------------------------------------------------------------
// Different letters, then one of them again: say the two that came after it. (The reader's habit here: step on.)

void go_on(const NeuralTuringMachineOptions& machine, const kit::Options& options, kit::Report& report) {
  const kit::Question without = report.ask(
      "one kind of move", "Heads with keys but no shifts, or shifts but no keys: do they learn it?",
      {"keys alone do", "shifts alone do", "neither"});
  const GoneOn gone = train_go_on(machine, options, report);
  report.answer(without, 'c', gone.shift <= 30 && gone.content <= 30 && gone.machine >= 97,
                "A key finds what is like it, not what comes behind. A shift finds that, but not the place.");
}

// ---- 5. An LSTM that keeps all its states -----------------------------------------------------------------
// Never overwrite: the *LSTM network with a memory*, LSTMN (Cheng, Dong and Lapata 2016), goes on not from its last
// state but from a blend of all (*intra-attention*), by lesson 11's additive score:
//     a_i = v · tanh(W_h h_i + W_x x_t + W_b h̃_{t−1} + b), i < t        s = softmax(a)
//     h̃_t = Σ_i s_i h_i,   c̃_t = Σ_i s_i c_i                            h_t, c_t = LSTM step(x_t, h̃_t, c̃_t)

Tensor run_lstmn(const Tensor& x, const LSTMN& net) {  // x (T, in)
  RecurrentState blend;                                // h̃ and c̃
  blend.hidden = blend.cell = zeros({1, net.cell.hidden()}, x.dtype());
  std::vector<Tensor> h, c;
  for (Size t = 0; t < x.size(0); ++t) {
    const Tensor now = slice(x, 0, t, t + 1);
    if (t > 0) {
      const Tensor past = concat(h, 0);  // (t, H)
      const Tensor inner = tanh(net.from_past(past) + net.from_input(now) + net.from_blend(blend.hidden));
      const Tensor s = softmax(transpose(matmul(inner, reshape(net.v, {-1, 1}))), -1);  // (1, t)
      blend = {matmul(s, past), matmul(s, concat(c, 0))};
    }
    const RecurrentState next = net.cell(now, blend);
    h.push_back(next.hidden), c.push_back(next.cell);
  }
  return concat(h, 0);
}

// From the last step to any state is one step, whatever the distance. Lesson 09's LSTM, from its usual start, could
// not remember over forty symbols. Here one of the first five of forty letters is marked, and asked at the end.

void far(const Right& copied, const kit::Options& options, kit::Report& report) {
  const kit::Question which = report.ask(
      "the LSTMN", "It keeps all its states. Does it remember the marked letter? And can it copy (part 3)?",
      {"both", "it remembers, and cannot copy", "it copies, and does not remember"});
  const Marked marked = train_marked(options, report);
  report.answer(which, 'b', copied.strings <= 10 && marked.lstmn >= 99 && marked.lstm <= 30,
                "It finds a state by what it is: marked. A copy asks for letters by their place.");
}

// What to remember. Heads move in a memory by content and by shift, and both have derivatives. Reading along a row
// is a rule for any length. A start that is nearly right makes it learnable.
//
// Exercises: lessons/practise 31 (find the place; erase and add; where the heads are; a small rememberer).

void lesson(const NeuralTuringMachineOptions& machine, const kit::Options& options, kit::Report& report) {
  report.section("Four moves to a place");
  pencil(report);
  report.section("A machine around it");
  check_machine(run_machine, options.seed, report);
  report.section("Copy, longer than trained");
  const Right lstmn = copy(machine, options, report);
  report.section("Find the place, then go on");
  go_on(machine, options, report);
  report.section("An LSTM that keeps all its states");
  check_lstmn(run_lstmn, options.seed, report);
  far(lstmn, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("31_addressing", "a memory you write to");
  program.steps(800, 3);
  NeuralTuringMachineOptions machine{.hidden = 32, .slots = 32, .width = 32};
  std::string start = "habit";
  program.add("--hidden", machine.hidden, "units of the controller", 1, 1024);
  program.add("--start", start, "how heads start", {"habit", "undecided"});
  return program.run(argc, argv, [&](const auto& options, auto& report) {
    if (start == "undecided") machine.readers_start = machine.writers_start = HeadStart::undecided;
    lesson(machine, options, report);
  });
}
