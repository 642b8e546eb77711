// What callgrind counts: small pieces of work, one by its name, warmed up first.
//
//     counts NAME
//
// The instructions of counted_piece() are those that matter: check.cmake has callgrind collect nothing else.
#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include "core/simd/runtime/threads.hpp"
#include "nn/norm.hpp"
#include "tests/bench/steps.hpp"

extern "C" __attribute__((noinline)) void counted_piece(const std::function<void()>& piece) {
  piece();
  asm volatile("");  // not a jump into the piece: callgrind looks for the return
}

namespace tapestry::bench {

namespace {

constexpr int kOps = 100;

/// A chain of ops on four numbers, recorded and swept: what an op costs beside its arithmetic.
Step tiny_ops() {
  return [x = leaf({4})] {
    x.clear_grad();
    Tape tape;
    Tensor y = x;
    for (int i = 0; i < kOps; ++i) y = y * x;
    tape.backward(sum(y));
  };
}

/// The same without a tape.
Step tiny_ops_forward() {
  return [x = random({4})] {
    Tensor y = x;
    for (int i = 0; i < kOps; ++i) y = y * x;
  };
}

struct Net : Module {
  Linear hidden{{*this, "hidden"}, 4, 8};
  LayerNorm norm{{*this, "norm"}, 8};
  Linear out{{*this, "out"}, 8, 3};

  Tensor operator()(const Tensor& x) const { return out(norm(tanh(hidden(x)))); }
};

/// One training step of a network of two layers.
Step tiny_network() {
  const auto training = std::make_shared<Training<Net>>();
  return [training, x = random({6, 4}), targets = random_ids({6}, 3)] {
    Tape tape;
    tape.backward(cross_entropy(training->model(x), targets));
    training->adam.step();
  };
}

Step piece_of(const std::string& name) {
  if (name == "tiny_ops") return tiny_ops();
  if (name == "tiny_ops_forward") return tiny_ops_forward();
  if (name == "tiny_network_step") return tiny_network();
  if (name == "tiny_translator_step") return seq2seq_step({12, 8, 16, 4, 5});
  if (name == "tiny_transformer_step") return decoder_step({12, 2, 8, 16, 2, 32, 1});
  throw std::invalid_argument("there is no piece \"" + name + "\"");
}

}  // namespace

}  // namespace tapestry::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: counts NAME\n");
    return 2;
  }
  try {
    tapestry::simd::set_thread_count(1);
    const tapestry::bench::Step piece = tapestry::bench::piece_of(argv[1]);
    for (int i = 0; i < 3; ++i) piece();
    counted_piece(piece);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "counts: %s\n", error.what());
    return 2;
  }
  return 0;
}
