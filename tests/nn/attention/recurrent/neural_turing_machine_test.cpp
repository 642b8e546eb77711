// The neural Turing machine: against plain loops over its own weights, in parts, gradients, first values,
// edges.
#include "nn/attention/recurrent/neural_turing_machine.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include "core/core.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/check_gradients.hpp"
#include "tests/nn/on_paper.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using testing::apart;
using testing::at;
using testing::normal;
using testing::Row;
using testing::sigmoid_of;
using testing::softmax_of;

namespace {

using Rows = std::vector<Row>;

double soft(double x) { return std::log(1 + std::exp(x)); }

Row product(const Tensor& weight, const Tensor& bias, const Row& x) {
  Row y;
  for (Size i = 0; i < weight.size(0); ++i) {
    y.push_back(bias.at({i}));
    for (Size j = 0; j < weight.size(1); ++j) y.back() += weight.at({i, j}) * x[at(j)];
  }
  return y;
}

/// A whole run of one string on paper: x (T, in) → states (T, output_width()).
Tensor by_loops(const NeuralTuringMachine& machine, const Tensor& x) {
  const NeuralTuringMachineOptions& o = machine.options();
  const State w = machine.state();
  const Size heads = o.readers + o.writers, places = 2 * o.reach + 1;
  Rows memory(at(o.slots)), stands(at(heads), Row(at(o.slots))), read(at(o.readers), Row(at(o.width)));
  for (Row& slot : memory)
    for (Size i = 0; i < o.width; ++i) slot.push_back(w.at("blank").at({i}));
  for (Row& stand : stands) stand[0] = 1;
  Row hidden(at(o.hidden)), all;
  for (Size t = 0; t < x.size(0); ++t) {
    Row seen;
    for (Size i = 0; i < o.in; ++i) seen.push_back(x.at({t, i}));
    for (const Row& r : read) seen.insert(seen.end(), r.begin(), r.end());
    const Row from_x = product(w.at("controller.weight_ih"), w.at("controller.bias_ih"), seen),
              from_h = product(w.at("controller.weight_hh"), w.at("controller.bias_hh"), hidden);
    for (Size i = 0; i < o.hidden; ++i) {
      const double r = sigmoid_of(from_x[at(i)] + from_h[at(i)]),
                   z = sigmoid_of(from_x[at(o.hidden + i)] + from_h[at(o.hidden + i)]);
      const double n = std::tanh(from_x[at(2 * o.hidden + i)] + r * from_h[at(2 * o.hidden + i)]);
      hidden[at(i)] = z * hidden[at(i)] + (1 - z) * n;
    }
    const Row says = product(w.at("interface_weight"), w.at("interface_bias"), hidden);
    std::size_t next = 0;
    const auto take = [&](Size count) {
      const auto first = says.begin() + static_cast<std::ptrdiff_t>(next);
      next += at(count);
      return Row(first, first + count);
    };
    Rows keys, shifts, erase, added;
    for (Size h = 0; h < heads; ++h) keys.push_back(take(o.width));
    const Row strength = take(heads), gate = take(heads);
    for (Size h = 0; h < heads; ++h) shifts.push_back(softmax_of(take(places)));
    const Row sharpness = take(heads);
    for (Size h = 0; h < o.writers; ++h) erase.push_back(take(o.width));
    for (Size h = 0; h < o.writers; ++h) added.push_back(take(o.width));
    REQUIRE(next == says.size());
    for (Size h = 0; h < heads; ++h) {
      Row& stand = stands[at(h)];
      if (o.moves != HeadMoves::by_shift) {
        Row like;
        for (const Row& slot : memory) {
          double both = 0, of_key = 1e-8, of_slot = 1e-8;
          for (std::size_t i = 0; i < slot.size(); ++i) {
            const double k = keys[at(h)][i];
            both += k * slot[i], of_key += k * k, of_slot += slot[i] * slot[i];
          }
          like.push_back(soft(strength[at(h)]) * both / std::sqrt(of_key * of_slot));
        }
        like = softmax_of(like);
        const double g = sigmoid_of(gate[at(h)]);
        for (std::size_t n = 0; n < stand.size(); ++n) stand[n] = g * like[n] + (1 - g) * stand[n];
      }
      if (o.moves != HeadMoves::by_content) {
        Row moved(stand.size());
        for (Size n = 0; n < o.slots; ++n)
          for (Size j = 0; j < places; ++j)
            moved[at((n + j - o.reach + o.slots) % o.slots)] += shifts[at(h)][at(j)] * stand[at(n)];
        double total = 0;
        for (double& weight : moved) total += weight = std::pow(weight + 1e-8, 1 + soft(sharpness[at(h)]));
        for (double& weight : moved) weight /= total;
        stand = moved;
      }
    }
    for (Size n = 0; n < o.slots; ++n)
      for (Size i = 0; i < o.width; ++i) {
        double& number = memory[at(n)][at(i)];
        for (Size h = 0; h < o.writers; ++h)
          number *= 1 - stands[at(o.readers + h)][at(n)] * sigmoid_of(erase[at(h)][at(i)]);
        for (Size h = 0; h < o.writers; ++h) number += stands[at(o.readers + h)][at(n)] * added[at(h)][at(i)];
      }
    all.insert(all.end(), hidden.begin(), hidden.end());
    for (Size h = 0; h < o.readers; ++h)
      for (Size i = 0; i < o.width; ++i) {
        double& number = read[at(h)][at(i)] = 0;
        for (Size n = 0; n < o.slots; ++n) number += stands[at(h)][at(n)] * memory[at(n)][at(i)];
        all.push_back(number);
      }
  }
  return tensor(all, {x.size(0), machine.output_width()}, DType::f64);
}

std::unique_ptr<NeuralTuringMachine> make(NeuralTuringMachineOptions options, std::uint64_t seed = 1) {
  auto machine = std::make_unique<NeuralTuringMachine>(options);
  machine->initialise(seed, DType::f64);
  return machine;
}

}  // namespace

TEST_CASE("a neural Turing machine does what its formulas say", "[turing]") {
  for (const HeadMoves moves : {HeadMoves::by_content, HeadMoves::by_shift, HeadMoves::by_both})
    for (const auto& [readers, writers] : {std::pair<Size, Size>{1, 1}, {2, 1}, {1, 3}}) {
      const auto machine = make({.in = 3,
                                 .hidden = 4,
                                 .slots = 5,
                                 .width = 2,
                                 .readers = readers,
                                 .writers = writers,
                                 .reach = 2,
                                 .moves = moves});
      const Tensor x = normal({2, 4, 3}, 2);
      const NeuralTuringMachineOutput found = (*machine)(x);
      CAPTURE(readers, writers);
      CHECK(found.heads.shape() == Dims{2, 4, readers + writers, 5});
      for (Size b = 0; b < 2; ++b)
        CHECK(apart(select(found.states, 0, b), by_loops(*machine, select(x, 0, b))) < 1e-11);
    }
}

TEST_CASE("a string may come in two parts, and no step sees a later one", "[turing]") {
  const auto machine = make({.in = 3, .hidden = 4, .slots = 6, .width = 2, .readers = 2, .writers = 2});
  const Tensor x = normal({2, 7, 3}, 2);
  const NeuralTuringMachineOutput whole = (*machine)(x), first = (*machine)(slice(x, 1, 0, 3)),
                                  second = (*machine)(slice(x, 1, 3, 7), first.last);
  CHECK(apart(concat({first.states, second.states}, 1), whole.states) < 1e-12);
  CHECK(apart(concat({first.heads, second.heads}, 1), whole.heads) < 1e-12);
  CHECK(apart(second.last.memory, whole.last.memory) < 1e-12);
  CHECK(apart(select(whole.heads, 1, 6), whole.last.heads) == 0);
}

TEST_CASE("gradients of a neural Turing machine", "[turing]") {
  for (const HeadStart start : {HeadStart::undecided, HeadStart::stay, HeadStart::advance}) {
    const auto machine =
        make({.in = 2, .hidden = 3, .slots = 4, .width = 2, .readers_start = start, .writers_start = start});
    const auto f = [&](const Tensor& x) {
      const NeuralTuringMachineOutput found = (*machine)(x);
      return concat(
          {reshape(found.states, {-1}), reshape(found.heads, {-1}), reshape(found.last.memory, {-1})}, 0);
    };
    CHECK_GRADIENTS(f, normal({2, 4, 2}, 2), machine->parameters(), {.tolerance = 1e-6});
  }
}

TEST_CASE("heads start as they are asked to: they stay, step on, or blur", "[turing]") {
  for (const Size reach : {1, 2}) {
    NeuralTuringMachineOptions options{.in = 3,
                                       .slots = 16,
                                       .width = 8,
                                       .readers = 1,
                                       .writers = 2,
                                       .reach = reach,
                                       .moves = HeadMoves::by_shift};
    const auto stands = [&](HeadStart readers, HeadStart writers) {  // after four steps
      options.readers_start = readers, options.writers_start = writers;
      NeuralTuringMachine machine(options);
      machine.initialise(3);
      return machine(0.1 * random_normal({5, 4, 3}, 1)).last.heads;  // (5, readers and writers, slots)
    };
    const auto least = [](const Tensor& heads, Size first, Size last, Size slot) {  // of their weights there
      return min(select(slice(heads, 1, first, last), 2, slot)).item();
    };
    const auto most = [](const Tensor& heads) {
      return max(slice(heads, 1, 1, 3)).item();
    };  // of the writers'
    CAPTURE(reach);
    const Tensor usual = stands(HeadStart::stay, HeadStart::advance);
    CHECK(least(usual, 0, 1, 0) > 0.5);
    CHECK(least(usual, 1, 3, 4) > 0.5);
    const Tensor other = stands(HeadStart::advance, HeadStart::undecided);
    CHECK(least(other, 0, 1, 4) > 0.5);
    CHECK(most(other) < 0.5);
  }
}

TEST_CASE("a neural Turing machine without steps or rows, and with one slot", "[turing]") {
  const auto machine = make({.in = 3, .hidden = 4, .slots = 5, .width = 2});
  const NeuralTuringMachineOutput none = (*machine)(zeros({2, 0, 3}, DType::f64));
  CHECK(none.states.shape() == Dims{2, 0, 6});
  CHECK(none.heads.shape() == Dims{2, 0, 2, 5});
  CHECK(none.last.memory.shape() == Dims{2, 5, 2});
  CHECK((*machine)(zeros({0, 3, 3}, DType::f64)).states.shape() == Dims{0, 3, 6});
  const auto one = make({.in = 3, .hidden = 4, .slots = 1, .width = 2, .reach = 0});
  const Tensor x = normal({1, 4, 3}, 2);
  CHECK(apart(select((*one)(x).states, 0, 0), by_loops(*one, select(x, 0, 0))) < 1e-12);
}

TEST_CASE("clones and saved weights of a neural Turing machine give the same", "[turing]") {
  const auto machine = make({.in = 3, .hidden = 4, .slots = 5, .width = 2}),
             other = make(machine->options(), 9);
  const Tensor x = normal({2, 4, 3}, 2), expected = (*machine)(x).states;
  CHECK(apart((*clone(*machine))(x).states, expected) == 0);
  CHECK(apart((*other)(x).states, expected) > 1e-3);
  other->load_state(machine->state());
  CHECK(apart((*other)(x).states, expected) == 0);
}

TEST_CASE("a neural Turing machine says what does not fit", "[turing]") {
  using Catch::Matchers::ContainsSubstring;
  using test::message_of;
  const auto told = [](const NeuralTuringMachineOptions& options) {
    return message_of([&] { NeuralTuringMachine machine(options); });
  };
  CHECK(told({.in = 1}) == "(nothing thrown)");
  const auto sizes = ContainsSubstring("at least 1");
  CHECK_THAT(told({}), sizes);
  CHECK_THAT(told({.in = 1, .hidden = 0}), sizes);
  CHECK_THAT(told({.in = 1, .slots = 0}), sizes);
  CHECK_THAT(told({.in = 1, .width = 0}), sizes);
  CHECK_THAT(told({.in = 1, .readers = 0}), sizes);
  CHECK_THAT(told({.in = 1, .writers = -1}), sizes);
  CHECK_THAT(told({.in = 1, .slots = 4, .reach = 2}), ContainsSubstring("and 4 slots"));
  CHECK_THAT(told({.in = 1, .reach = -1}), ContainsSubstring("reach must be at least 0"));
  const auto machine = make({.in = 3});
  CHECK_THAT(message_of([&] {
               (*machine)(zeros({2, 3}, DType::f64));
             }),
             ContainsSubstring("(batch, time, 3)"));
  CHECK_THAT(message_of([&] {
               (*machine)(zeros({2, 3, 4}, DType::f64));
             }),
             ContainsSubstring("(batch, time, 3)"));
  NeuralTuringMachineState state;
  state.read = zeros({2, 2, 16}, DType::f64);
  CHECK_THAT(message_of([&] { (*machine)(zeros({2, 3, 3}, DType::f64), state); }), ContainsSubstring("read"));
}

TEST_CASE("states and heads of no steps are on the tape", "[turing]") {
  NeuralTuringMachine layer({.in = 3, .hidden = 4, .slots = 5, .width = 2});
  layer.initialise(1);
  Tape tape;
  const Tensor x = variable(ones({2, 0, 3}));
  const NeuralTuringMachineOutput y = layer(x);
  CHECK(y.states.shape() == Dims{2, 0, layer.output_width()});
  CHECK(y.heads.shape() == Dims{2, 0, 2, 5});
  CHECK(tape.gradients(sum(y.states), {x}, {.keep = true})[0].shape() == x.shape());
  CHECK_NOTHROW(tape.backward(sum(layer(ones({2, 0, 3})).heads)));
}
