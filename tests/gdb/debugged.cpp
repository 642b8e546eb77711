// What gdb looks at in the test of core/gdb_printers.py: it stops in look(), twice, and prints what main
// holds.
#include "core/ops/ops.hpp"
#include "core/tape/records.hpp"  // the tape's inside, as a core/ that is built with -g describes it
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "nn/linear.hpp"

using namespace tapestry;

[[gnu::noinline]] void look(const detail::Records* records);
void look(const detail::Records* records) { asm volatile("" : : "r"(records) : "memory"); }

int main() {
  const Tensor w = variable(tensor({{1, 2, 3}, {4, 5, 6}}), "w");
  const Tensor turned = transpose(w.detach());
  const Tensor many = arange(0, 20, 1, DType::f64);
  const Tensor none, constant = scalar(0.5);
  const Dims shape{4, 1, 7};
  Linear layer(3, 1, Bias::no, ones);
  const Tensor outside = w * 2.0;

  Tape tape;
  const Tensor y = exp(w - 1.0) * w;
  look(nullptr);

  layer.initialise(1);
  layer.freeze();
  tape.backward(sum(y));
  look(nullptr);
  return none.defined() || turned.rank() + many.rank() + outside.rank() + constant.rank() + shape.rank() != 8;
}
