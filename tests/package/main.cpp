#include <cstdio>
#include <tapestry/core/core.hpp>

using namespace tapestry;

int main() {
  const Tensor x = variable(tensor({1, 2, 3}), "x");  // a leaf: it requires a gradient
  Tape tape;                                          // from here on, ops are recorded
  const Tensor y = sum(x * x * x);                    // 1 + 8 + 27
  std::printf("%s", tape.table().c_str());            // what the tape holds
  tape.backward(y);                                   // walk the tape backwards from y
  std::printf("y = %g, dy/dx = %s\n", y.item(), to_string(x.grad()).c_str());  // 3 x²
  return x.grad().at({2}) == 27 ? 0 : 1;
}
