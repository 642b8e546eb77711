// 31 addressing: a memory you write to
//
// 25 minutes to read, 60 seconds to run. Needs lessons 06 (queries, keys, values), 09 (LSTM and GRU), 11 (the additive
// score), 24 (the cosine of two vectors) and 30 (a memory as a matrix). Afterwards you can build a memory with slots,
// select slots by content and by shift, and say which of the two a task needs.
//
// Consider this task: read a string to its end, then repeat it. With a sheet of paper, you would write down
// the letters in a row, go back to the first letter, and read them in order. Can a network with a memory learn
// this method?

#include <cmath>

#include "core/core.hpp"
#include "lessons/31_addressing/experiment.hpp"

using namespace tapestry;
using namespace tapestry::lesson31;

namespace {

// ---- 1. Addressing in four steps --------------------------------------------------------------------------
// The *memory* M (N, W) is a matrix with N *slots*. Each slot is a row of W numbers. A *head* selects slots,
// for reading or for writing. (The name comes from the head of a Turing machine. It is not one of the heads of
// lesson 18.) The position of a head is a vector w of N weights that sum to 1. We say that the head is on
// slot n if w_n is 1, but its weight can also be spread over several slots. We could store the index of one slot
// instead. But an index has no derivative, so training could not change it.
//
// In the *neural Turing machine* of Graves, Wayne and Danihelka (2014), a head moves from its previous
// weights w_{t−1} to its new weights w_t in four steps:
//
//     content    c_n = softmax over n of β cos(k, M_n)       find the slots that are similar to k
//     gate       w' = g c + (1 − g) w_{t−1}                  g = 1: go to those slots; g = 0: stay
//     shift      w''_n = Σ_j s_j w'_{n−j}, j = −1, 0, 1      move by −1, 0 or 1 slots
//     sharpen    w_n = (w''_n)^γ / Σ_m (w''_m)^γ             make large weights larger
//
// Graves et al. call k the *key*. In the words of lesson 06, k is the query, and each slot is both a key and a value.
//
// The strength β is greater than 0. The gate g is between 0 and 1. The three shift weights s_j sum to 1. The memory
// is a ring: slot 0 follows slot N − 1. The sharpness γ is at least 1.
//
// Why do we need β? A cosine is between −1 and 1. Without β, no slot could have more than e² (about 7) times the
// weight of another.
//
// Why do we need γ? If more than one s_j is greater than 0, a shift spreads the weight of one slot over several slots.
// We call this *blur*. A power makes large weights larger and small weights smaller, so it undoes the blur.
//
// For an example by hand, let M = ((2, 0), (0, 3), (0, 1), (0, −1)), with the head on slot 2. The head
// receives k = (1, 0), β = ln 3, g = 0.5, (s₋₁, s₀, s₁) = (0, 0.2, 0.8) and γ = 2:
//
//     slot           0        1        2        3
//     cosine         1        0        0        0
//     content       0.5      0.167    0.167    0.167
//     gate          0.25     0.083    0.583    0.083
//     shift         0.117    0.217    0.183    0.483
//     sharpen       0.042    0.143    0.103    0.713
//
// One number of each row, step by step:
//
//     content, slot 0    e^(ln 3 · 1) = 3 and e^0 = 1, so it is 3 / (3 + 1 + 1 + 1)
//     gate, slot 2       0.5 · 0.167 + 0.5 · 1
//     shift, slot 3      0.2 · 0.083 + 0.8 · 0.583
//     sharpen, slot 3    0.483², divided by the sum of the squares of the row "shift"

/// heads (H, N): moves the weights by 1 or −1 slots.
Tensor roll(const Tensor& heads, int by) {
  const Size cut = by > 0 ? heads.size(1) - 1 : 1;
  return concat({slice(heads, 1, cut, heads.size(1)), slice(heads, 1, 0, cut)}, 1);
}

/// Moves H heads at once: memory (N, W), before (H, N), key (H, W), shift (H, 3), all others (H, 1).
Tensor find_place(const Tensor& memory, const Tensor& before, const Addressing& how) {
  const auto unit = [](const Tensor& x) { return x / sqrt(sum(x * x, {-1}, Keep::yes) + 1e-8); };
  const Tensor content = softmax(how.strength * matmul(unit(how.key), transpose(unit(memory))), -1);
  const Tensor gated = how.gate * content + (1 - how.gate) * before;
  const auto s = [&](Size i) { return slice(how.shift, 1, i, i + 1); };
  const Tensor shifted = s(0) * roll(gated, -1) + s(1) * gated + s(2) * roll(gated, 1);
  const Tensor powers = exp(how.sharpness * log(shifted + 1e-8));  // avoids the logarithm of 0
  return powers / sum(powers, {-1}, Keep::yes);
}

void worked_example(kit::Report& report) {
  const auto place = [&](double g, const std::vector<double>& s, double gamma) {
    return find_place(tensor({{2, 0}, {0, 3}, {0, 1}, {0, -1}}, DType::f64), row({0, 0, 1, 0}),
                      {row({1, 0}), row({std::log(3)}), row({g}), row(s), row({gamma})});
  };
  check_row(report, "content", place(1, {0, 1, 0}, 1), {0.5, 0.167, 0.167, 0.167});
  check_row(report, "gate", place(0.5, {0, 1, 0}, 1), {0.25, 0.083, 0.583, 0.083});
  check_row(report, "shift", place(0.5, {0, 0.2, 0.8}, 1), {0.117, 0.217, 0.183, 0.483});
  check_row(report, "sharpen", place(0.5, {0, 0.2, 0.8}, 2), {0.042, 0.143, 0.103, 0.713});
  const kit::Question blur =
      report.ask("twenty steps",
                 "A head is on one of many slots. It takes twenty steps, each with s = (0, 0.1, 0.9), g = 0 "
                 "and γ = 1. How much of its weight is then on the slot that is twenty slots further on?",
                 {"0.9", "about a half", "about an eighth"});
  report.check_quoted("weight on the right slot, γ = 1", weight_after_shifts(1), 0.12, 0.02);
  report.check_quoted("weight on the right slot, γ = 2", weight_after_shifts(2), 0.98, 0.01);
  report.answer(
      blur, 'c', std::abs(weight_after_shifts(1) - 0.125) < 0.01,
      "To get there, the weight must move on in every step. So it is 0.9 to the power of 20, which is "
      "0.12. With γ = 2, it is still 0.98, because sharpening removes most of each step's blur "
      "before the next step.");
}

// ---- 2. The neural Turing machine -------------------------------------------------------------------------
// A *write head* first erases, with a vector e of numbers from 0 to 1, and then adds a vector a. A *read
// head* returns a weighted average of the slots, as attention does. Both use the head's weights w_n:
//
//     M_n ← M_n ⊙ (1 − w_n e) + w_n a          r = Σ_n w_n M_n
//
// For example, let M_n = (2, 0), e = (1, 0) and a = (0, 5). With w_n = 1, the slot becomes (0, 5). With w_n = 1/2,
// it becomes (1, 5/2). In lesson 30, the memory was a matrix, too. There, the outer product of a key and a value was
// added to it. Here, we add the outer product of w and a, so w selects the rows.
//
// A *controller* decides what the heads do. Here it is a GRU whose input is the next input of the machine,
// concatenated with the vector r of the previous step. From the controller's state, a linear layer, the
// *interface*, computes all the numbers that the heads receive: k, β, g, s, γ, e and a. Functions bring each of
// them into its range: sigmoid for g and e, softmax for s, softplus for β, and 1 + softplus for γ. The function
// softplus(x) = log(1 + e^x) is always positive.
//
// In each step, the machine moves both heads, writes, and then reads from the new memory. Another linear layer
// computes the answer from the controller's state and r. At the start, all slots contain the same learned vector
// (blank), and both heads are on slot 0.

Tensor run_machine(const Tensor& x, const NeuralTuringMachine& net) {  // x (T, in); one head of each kind
  const Size slots = net.options().slots, width = net.options().width;
  Tensor memory = expand(net.blank, {slots, width}), read = zeros({1, width}, x.dtype()), h;
  Tensor heads =
      pad(ones({2, 1}, x.dtype()), 1, 0, slots - 1);  // row 0: read head, row 1: write head; on slot 0
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
    const Tensor w = transpose(slice(heads, 0, 1, 2));  // (N, 1): the write head
    memory = memory * (1 - matmul(w, erase)) + matmul(w, add);
    read = matmul(slice(heads, 0, 0, 1), memory);
    out.push_back(concat({h, read}, 1));
  }
  return concat(out, 0);
}

// ---- 3. Copying strings -----------------------------------------------------------------------------------
// The input has one to ten letters of eight kinds, then the symbol "end", and then the symbol "say" once for each
// letter. At each "say", the model must output the next letter of the string. A guess is right for one letter in eight.
// The first strings of a training run are short, and the maximum length grows to ten.
//
// No label tells the heads where to go. But we choose the initial biases of the interface so that each head has a
// *habit* before training: the write head tends to move on by one slot in each step, the read head tends to stay, and
// γ is above 2. Training can change the habits. The read head must learn to move on at each "say". We also train a
// machine that starts without habits ("undecided").
//
// The other models are a machine without shifts (it moves by content only), an LSTM, and the LSTMN of section 5. All
// models have 800 training steps. The learning rate of the LSTMN is 3e-3, and that of all others is 1e-2. The machine
// does not learn the task from all initial weights. If its first training run fails, the program starts a second one
// from other initial weights. The other models have only one run.

Accuracy copy(const NeuralTuringMachineOptions& machine, const kit::Options& options, kit::Report& report) {
  const kit::Question twice = report.ask(
      "twenty letters",
      "All models are trained for 800 steps, on strings of at most ten letters. Which of them can copy strings "
      "of twenty letters after training?",
      {"the machine", "the machine and the LSTM, which has more parameters",
       "none of them: they have never seen such strings"});
  const CopyAccuracy copied = train_copy(machine, options, report);
  report.answer(
      twice, 'a', copied.machine.strings_twice >= 95 && copied.lstm.strings_twice <= 1,
      "The machine writes a letter and moves on, then reads a letter and moves on. This method works for twenty "
      "letters as well as for ten.");
  return copied.lstmn;
}

// At seed 1, the table reads:
//
//     copy                       params   letters @10     strings   letters @20     strings
//     machine                     17324       100.0 %     100.0 %       100.0 %     100.0 %
//     machine, undecided          17324       100.0 %     100.0 %       100.0 %     100.0 %
//     machine, by content only    17324        44.3 %       0.0 %        28.1 %       0.0 %
//     LSTM                        28352        56.3 %       0.0 %        32.1 %       0.0 %
//     LSTMN (section 5)           38720        42.6 %       0.0 %        29.0 %       0.0 %
//
// "@10" means strings of 10 letters. The two columns give the percentage of right letters and of strings in
// which all letters are right. At other seeds, the numbers differ, but after 800 steps, only machines with shifts
// copy most of the strings. (Graves et al. trained LSTMs for much longer. Theirs copied strings of the trained lengths
// nearly without error, but they failed on longer ones.)
//
// Does the machine need its habits? Not at this seed: the undecided machine copies as well. But with --seed 77, the
// machine with habits copies all strings of ten letters, and the undecided machine copies none. With --seed 2026, both
// fail, and the second run of the machine with habits copies all of them.
//
// At seed 1, the machine copies 100 % of the strings of 28 letters. But it copies 0 % of the strings of 32 letters,
// which fill all 32 slots of the memory.
//
// One likely reason is that the write head also moves on and writes at "end" and at each "say". After 32 letters, it is
// back on slot 0 at "end", before the read head has read the first letter.
//
// The picture copy.svg shows the right letters for other lengths. In writes.svg and reads.svg, each column is a
// step, and each row is a slot. The write head moves on with each letter, and the read head with each "say".

// ---- 4. Which letters came next? --------------------------------------------------------------------------
// The input has a string of different letters, now of 32 kinds, and then one of them again. The model must output the
// two letters that came after it in the string. A guess among the letters of a string of ten is right for about one
// letter in ten. In this task, the habit of the read head is to move on.

void find_and_continue(const NeuralTuringMachineOptions& machine, const kit::Options& options,
                       kit::Report& report) {
  const kit::Question without = report.ask(
      "one kind of move",
      "We also train a machine that moves by content only (keys, but no shifts), and one that moves "
      "by shift only (shifts, but no keys). Which of these two learns the task in 800 steps?",
      {"the one that moves by content only", "the one that moves by shift only", "neither"});
  const ContinueAccuracy accuracy = train_continue(machine, options, report);
  report.answer(without, 'c', accuracy.shift <= 30 && accuracy.content <= 30 && accuracy.machine >= 97,
                "A key finds the slot that is similar to it, but not the slot after it. A shift finds the "
                "slot after the current one, but the head must be on the right slot first.");
}

// At seed 1, the table reads:
//
//     continue                   params   letters @10     strings   letters @20     strings
//     machine                     17324       100.0 %     100.0 %       100.0 %     100.0 %
//     machine, by shift only      17324        14.8 %       1.2 %         5.6 %       0.2 %
//     machine, by content only    17324        13.1 %       1.2 %         6.2 %       1.0 %
//
// Could a machine by content only learn the task? It would have to store each letter together with the letter before
// it, as in lesson 21. Then the key would find the next letter. It did not learn this in 800 steps.

// The picture go_on.svg shows the read head of the machine for one string. At the repeated letter (with "?"), it
// moves in a single step to the slot that follows the slot of this letter: the key finds the slot, and the shift
// moves on by one.

// ---- 5. An LSTM that keeps all its states -----------------------------------------------------------------
// A different idea is never to overwrite anything. The LSTM network with a memory, *LSTMN* (Cheng, Dong and
// Lapata 2016), keeps all its states. A normal LSTM computes its next state from the last one. The LSTMN
// computes its next state from a weighted average of all earlier states. The weights come from
// *intra-attention*, the attention of a recurrent layer to its own states. The score is additive, as in lesson 11:
//
//     score_i = v · tanh(W_h h_i + W_x x_t + W_b h̃_{t−1} + b), i < t       α = softmax(score)
//     h̃_t = Σ_i α_i h_i,   c̃_t = Σ_i α_i c_i                               h_t, c_t = LSTM step(x_t, h̃_t, c̃_t)
//
// h_i and c_i are the two parts of an LSTM's state (lesson 09). (In the paper, the scores are a_i and the weights s_i.)

Tensor run_lstmn(const Tensor& x, const LSTMN& net) {  // x (T, in)
  RecurrentState blend;                                // h̃ and c̃
  blend.hidden = blend.cell = zeros({1, net.cell.hidden()}, x.dtype());
  std::vector<Tensor> h, c;
  for (Size t = 0; t < x.size(0); ++t) {
    const Tensor now = slice(x, 0, t, t + 1);
    if (t > 0) {
      const Tensor past = concat(h, 0);  // (t, H)
      const Tensor inner = tanh(net.from_past(past) + net.from_input(now) + net.from_blend(blend.hidden));
      const Tensor alpha = softmax(transpose(matmul(inner, reshape(net.v, {-1, 1}))), -1);  // (1, t)
      blend = {matmul(alpha, past), matmul(alpha, concat(c, 0))};
    }
    const RecurrentState next = net.cell(now, blend);
    h.push_back(next.hidden), c.push_back(next.cell);
  }
  return concat(h, 0);
}

// In lesson 09, an LSTM with its usual initial weights could not remember a symbol over forty steps. Here, the input
// has forty letters of eight kinds. One of the first five is marked, and the model must name this letter at the end.
// Both models have the learning rate 3e-3 and 800 training steps.

void recall_marked(const Accuracy& copied, const kit::Options& options, kit::Report& report) {
  const kit::Question which =
      report.ask("the LSTMN",
                 "The LSTMN keeps all its states, but it did not learn to copy strings (section 3). Does it "
                 "learn to name the marked letter in 800 steps?",
                 {"no, it forgets the letter over such a distance", "yes, nearly always",
                  "in about half of the strings"});
  const MarkedAccuracy marked = train_marked(options, report);
  report.answer(
      which, 'b', copied.strings <= 10 && marked.lstmn >= 99 && marked.lstm <= 30,
      "Each step of the LSTMN reads an average of all earlier states. So the letter does not have to pass "
      "through all forty steps one after another, as in an LSTM.");
}

// At seed 1, the table gives the percentage of strings in which the model names the marked letter:
//
//     marked                     params            @40            @80
//     LSTMN                       38720        100.0 %        100.0 %
//     LSTM                        28352         11.4 %         13.0 %
//
// "@40" means strings of 40 letters, as in training. At other seeds, the numbers of the LSTM differ, but they stay near
// chance, one in eight.
//
// Does the last step of the LSTMN look back at the marked state?
//
// At seed 1, the last step puts 8.912 % of its weight on the marked state, as a mean over the test strings.
//
// So most of its weight is on later states. These states must have taken over the letter, because the last step learns
// about the letters only through its weights. To copy a string is harder for the LSTMN, probably because it must find
// the letters by their position instead of a mark.

// What to remember. A head moves through a memory by content and by shift, and both moves have derivatives. Reading
// slot after slot works for longer strings than those of the training, as long as the memory has free slots. Initial
// biases can give the heads habits, and at some seeds, the machine learns to copy only with them. An LSTMN keeps all
// its states, so that each step can read all earlier ones.
//
// Exercises: lessons/practise 31 (addressing by content and by shift; gradients of a write; head positions,
// blur and slots; a small LSTMN).

void lesson(const NeuralTuringMachineOptions& machine, const kit::Options& options, kit::Report& report) {
  report.section("Addressing in four steps");
  worked_example(report);
  report.section("The neural Turing machine");
  check_machine(run_machine, options.seed, report);
  report.section("Copying strings");
  const Accuracy lstmn = copy(machine, options, report);
  report.section("Which letters came next?");
  find_and_continue(machine, options, report);
  report.section("An LSTM that keeps all its states");
  check_lstmn(run_lstmn, options.seed, report);
  recall_marked(lstmn, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("31_addressing", "a memory you write to");
  program.steps(800, 3);
  NeuralTuringMachineOptions machine{.hidden = 32, .slots = 32, .width = 32};
  std::string start = "habit";
  program.add("--hidden", machine.hidden, "hidden units of the controller", 1, 1024);
  program.add("--start", start, "initial biases of the heads", {"habit", "undecided"});
  return program.run(argc, argv, [&](const auto& options, auto& report) {
    if (start == "undecided") machine.readers_start = machine.writers_start = HeadStart::undecided;
    lesson(machine, options, report);
  });
}
