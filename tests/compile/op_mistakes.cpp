// Mistakes in an op of the user's, and in functions that are given to gradcheck and checkpoint.
#include <array>

#include "core/check/gradcheck.hpp"
#include "core/ops/ops.hpp"
#include "core/tape/checkpoint.hpp"
#include "core/tape/op.hpp"

using namespace tapestry;

/// Looks like a layer to gradcheck and checkpoint.
struct LayerLike {
  Tensor operator()(const Tensor& x) const;
  std::vector<Tensor> parameters() const;
};

#ifdef WRONG
// error 1: a rule must take (const Tensor& dy), or (const Tensor& dy, const Tensor& y)
Tensor rule_without_dy(const Tensor& x, CallSite at) {
  return op<"own">(at, x.detach(), wrt(x, [x] { return x; }));
}
// error 2: must return one gradient for each argument, as in std::array{dx, dw}
Tensor one_gradient_too_many(const Tensor& x, const Tensor& w, CallSite at) {
  return op<"own">(at, x.detach(), wrt_all(std::array{&x, &w}, [](const Tensor& dy) {
                     return std::array{dy, dy, dy};
                   }));
}
// error 3: each rule must be given with its argument: wrt(x, rule)
Tensor rule_without_wrt(const Tensor& x, CallSite at) {
  return op<"own">(at, x.detach(), [](const Tensor& dy) { return dy; });
}
// error 4: the line of the caller must come before the value: op<"name">(at, value,
// error 4: the line of the caller must come before the value: op<\"name\">(at, value,
Tensor without_line(const Tensor& x) {
  return op<"own">(x.detach(), wrt(x, [](const Tensor& dy) { return dy; }));
}
// error 5: gradcheck([&](const Tensor& x) { return layer(x); }, x, layer.parameters())
bool checks_layer(const LayerLike& layer, const Tensor& x) { return gradcheck(layer, x).ok(); }
// error 6: gradcheck: f must take up to eight (const Tensor& x, ...), or one std::vector<Tensor>, and return a Tensor
bool checks_nothing(const Tensor& x) {
  return gradcheck([](const Tensor& a) { static_cast<void>(a * 2); }, x).ok();
}
// error 7: checkpoint([&](const Tensor& x) { return layer(x); }, x)
Tensor checkpointed_layer(const LayerLike& layer, const Tensor& x) { return checkpoint(layer, x); }
// error 8: checkpoint: f must take the arguments that follow it and return a Tensor
Tensor one_argument_left_out(const Tensor& x) {
  return checkpoint([](const Tensor& a, const Tensor& b) { return a * b; }, x);
}
// error 9: an accumulator must take (Tensor& sum, const Tensor& dy), and add to sum
Tensor accumulator_of_result(const Tensor& x, CallSite at) {
  return op<"own">(at, x.detach(),
                   wrt(
                       x, [](const Tensor& dy) { return dy; },
                       [](Tensor& sum, const Tensor& dy, const Tensor& y) { sum = sum + dy * y; }));
}
#else
Tensor own(const Tensor& x, const Tensor& w, CallSite at) {
  const Tensor y = op<"own">(at, x.detach(),
                             wrt(
                                 x, [](const Tensor& dy, const Tensor& result) { return dy * result; },
                                 [](Tensor& sum, const Tensor& dy) { sum = sum + dy; }));
  return op<"own">(at, y.detach(), wrt_all(std::array{&y, &w}, [](const Tensor& dy) {
                     return std::array{dy, dy};
                   }));
}
bool checks(const LayerLike& layer, const Tensor& x) {
  return gradcheck([&](const Tensor& a) { return layer(a); }, x, layer.parameters()).ok() &&
         gradcheck([](const std::vector<Tensor>& all) { return all[0] * all[1]; }, {x, x}).ok();
}
Tensor checkpointed(const LayerLike& layer, const Tensor& x) {
  return checkpoint([](const Tensor& a, const Tensor& b) { return a * b; }, x,
                    checkpoint([&](const Tensor& a) { return layer(a); }, x));
}
#endif
