// What gdb and lldb look at in the tests of core/debug_printers: they stop in look(), twice, and print what
// main holds.
#include <cstring>

#include "core/ops/ops.hpp"
#include "core/tape/graph.hpp"  // the tape's inside, as a core/ that is built with -g describes it
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "nn/linear.hpp"

using namespace tapestry;

[[gnu::noinline]] void look(const detail::Graph* graph);
void look(const detail::Graph* graph) { asm volatile("" : : "r"(graph) : "memory"); }

int main() {
  const Tensor w = variable(tensor({{1, 2, 3}, {4, 5, 6}}), "w");
  const Tensor turned = transpose(w.detach());
  const Tensor many = arange(0, 20, 1, DType::f64);
  const Tensor none, constant = scalar(0.5);
  const Dims shape{4, 1, 7};
  Linear layer(3, 1, Bias::no, ones);
  const Tensor outside = w * 2.0;

  alignas(Tensor) unsigned char bytes[sizeof(Tensor)];
  std::memset(bytes, 0x11, sizeof bytes);  // as a variable before its constructor
  const Tensor& early = reinterpret_cast<const Tensor&>(bytes);

  Tape tape;
  const Tensor y = exp(w - 1.0) * w;
  look(nullptr);
  (void)early;

  layer.initialise(1);
  layer.freeze();
  tape.backward(sum(y));
  look(nullptr);
  return none.defined() || turned.rank() + many.rank() + outside.rank() + constant.rank() + shape.rank() != 8;
}
