#include "core/attention/symbol.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "core/ops/join.hpp"
#include "core/ops/views.hpp"
#include "core/simd/attention/score_tiles.hpp"
#include "core/tensor/broadcast.hpp"
#include "core/tensor/index.hpp"

namespace tapestry {

namespace {

/// Returns the mask of the live elements of an operand of this shape: an element is live if `live` is true at any
/// position to which it broadcasts. Returns no mask if all are.
Mask live_elements(const Mask& live, const Dims& shape) {
  if (!live.defined()) return {};
  Dims some = live.shape();  // the axes of the mask, reduced to 1 where the shape broadcasts
  for (int back = 1; back <= some.rank(); ++back)
    if (shape.from_back(back) == 1) some[some.rank() - back] = 1;
  const Mask result = some == live.shape() ? live : live.any(some);
  if (result.all()) return {};
  while (some.rank() > shape.rank()) some.erase(0);
  return result.reshape(some);
}

/// Returns true if both masks share memory and shape, or both are undefined.
bool same(const Mask& a, const Mask& b) {
  return a.defined() == b.defined() && (!a.defined() || (a.data() == b.data() && a.shape() == b.shape()));
}

/// Returns the shape to which all tensors broadcast.
Dims shape_of_all(const std::vector<Tensor>& all) {
  Dims shape;
  for (const Tensor& x : all) shape = joint_shape(shape, x.shape()).shape;
  return shape;
}

/// Returns x with 1 in place of the elements that are not live.
Tensor guarded(const Mask& live, const Tensor& x) {
  return live.defined() ? where(live, x, scalar(1, x.dtype())) : x;
}

/// Returns the first unmasked pair among those to which element `place` of this shape broadcasts, if any.
std::optional<simd::QueryKey> live_pair(Size place, const Dims& shape, const Dims& scores,
                                        const Mask& pairs) {
  const Dims one_each = joint_shape(shape, Dims::filled(4, 1)).shape;  // rank 4: b, h, i, j
  const Dims begin = index_of(place, one_each);
  Dims end = scores;
  for (int axis = 0; axis < 4; ++axis)
    if (one_each[axis] != 1) end[axis] = begin[axis] + 1;
  const View<const bool> may = pairs.broadcast(scores, "score_mod");
  for (Size b = begin[0]; b < end[0]; ++b)
    for (Size h = begin[1]; h < end[1]; ++h)
      for (Size i = begin[2]; i < end[2]; ++i)
        for (Size j = begin[3]; j < end[3]; ++j)
          if (may.data[b * may.stride[0] + h * may.stride[1] + i * may.stride[2] + j * may.stride[3]])
            return simd::QueryKey{b, h, i, j};
  return {};
}

}  // namespace

Symbol Symbol::made_of(std::vector<Symbol> operands, Guard guard, Function make, Mask condition,
                       Tensor source) {
  thread_local std::uint64_t made = 0;
  auto node = std::make_shared<Node>();
  node->number = ++made;
  node->plain = !operands.empty() && !condition.defined() &&
                std::all_of(operands.begin(), operands.end(), [](const Symbol& x) { return x.is_number(); });
  node->operands = std::move(operands);
  node->guard = guard;
  node->make = std::move(make);
  node->condition = std::move(condition);
  node->source = std::move(source);
  return Symbol(std::shared_ptr<const Node>(std::move(node)));
}

Symbol Symbol::from(const Tensor& tensor) {
  return made_of(
      {}, Guard::none, [](const Tensor& source, const std::vector<Tensor>&) { return source; }, {}, tensor);
}

Symbol Symbol::number_of(double value) {
  auto node = std::make_shared<Node>();
  node->make = [](const Tensor& source, const std::vector<Tensor>&) { return source; };
  node->source = scalar(value, DType::f64);
  node->plain = true;
  return Symbol(std::shared_ptr<const Node>(std::move(node)));
}

Symbol Symbol::one(const Symbol& a, Function1 f) {
  return made_of({a}, Guard::jointly,
                 [f = std::move(f)](const Tensor&, const std::vector<Tensor>& x) { return f(x[0]); });
}

Symbol Symbol::both(const Symbol& a, const Symbol& b, Guard guard, Function2 f) {
  return made_of({a, b}, guard,
                 [f = std::move(f)](const Tensor&, const std::vector<Tensor>& x) { return f(x[0], x[1]); });
}

Symbol select(const Mask& condition, const Symbol& yes, const Symbol& no) {
  return Symbol::made_of(
      {yes, no}, Symbol::Guard::none,
      [condition](const Tensor&, const std::vector<Tensor>& x) { return where(condition, x[0], x[1]); },
      condition);
}

bool Symbol::is_number() const { return node_->plain; }

std::vector<const Symbol::Node*> Symbol::nodes() const {
  std::vector<const Node*> found, next{node_.get()};
  std::unordered_map<const Node*, bool> seen{{node_.get(), true}};
  while (!next.empty()) {
    found.push_back(next.back());
    next.pop_back();
    for (const Symbol& operand : found.back()->operands)
      if (seen.emplace(operand.node_.get(), true).second) next.push_back(operand.node_.get());
  }
  std::sort(found.begin(), found.end(), [](const Node* a, const Node* b) { return a->number < b->number; });
  return found;
}

/// Returns the values of the operands, with plain numbers converted to the dtype of the other operand.
std::vector<Tensor> Symbol::operands_of(const Node& node, const std::function<Tensor(const Node&)>& value) {
  std::vector<Tensor> operands;
  for (const Symbol& operand : node.operands) operands.push_back(value(*operand.node_));
  for (std::size_t i = 0; i < operands.size(); ++i)
    for (std::size_t j = 0; j < operands.size(); ++j)
      if (node.operands[i].is_number() && !node.operands[j].is_number())
        operands[i] = operands[i].to(operands[j].dtype());
  return operands;
}

Tensor Symbol::value() const {
  for (const Node* node : nodes()) {
    if (node->off_tape.defined()) continue;
    const Tensor source = node->source.defined() ? node->source.detach() : Tensor{};
    node->off_tape = node->make(source, operands_of(*node, [](const Node& x) { return x.off_tape; }));
  }
  return node_->off_tape;
}

Tensor Symbol::evaluate(const Mask& live) const {
  const std::vector<const Node*> all = nodes();
  // A value is live wherever an expression that uses it is live.
  std::unordered_map<const Node*, Mask> live_at{{node_.get(), live}};
  for (auto node = all.rbegin(); node != all.rend(); ++node) {
    const Mask here = live_at.at(*node);
    for (std::size_t i = 0; i < (*node)->operands.size(); ++i) {
      const Node* operand = (*node)->operands[i].node_.get();
      Mask there = here;
      if (const Mask& condition = (*node)->condition; condition.defined() && !operand->operands.empty())
        there = here & (i == 0 ? condition : !condition);
      const auto [known, is_new] = live_at.emplace(operand, there);
      if (!is_new && !same(known->second, there)) known->second = known->second | there;
    }
  }
  std::unordered_map<const Node*, Tensor> values;
  for (const Node* node : all) {
    std::vector<Tensor> x = operands_of(*node, [&](const Node& operand) { return values.at(&operand); });
    if (node->guard != Guard::none) {
      const Dims joint = shape_of_all(x);
      for (Tensor& one : x)
        one = guarded(live_elements(live_at.at(node), node->guard == Guard::jointly ? joint : one.shape()),
                      one);
    }
    values.emplace(node, node->make(node->source, x));
  }
  return values.at(node_.get());
}

namespace {

/// Returns the values of both symbols, with a plain number converted to the dtype of the other.
std::pair<Tensor, Tensor> values_of(const Symbol& a, const Symbol& b) {
  Tensor x = a.value(), y = b.value();
  if (a.is_number() && !b.is_number()) x = x.to(y.dtype());
  if (b.is_number() && !a.is_number()) y = y.to(x.dtype());
  return {x, y};
}

}  // namespace

Mask operator<(const Symbol& a, const Symbol& b) {
  const auto [x, y] = values_of(a, b);
  return less(x, y);
}
Mask operator<=(const Symbol& a, const Symbol& b) {
  const auto [x, y] = values_of(a, b);
  return less_equal(x, y);
}
Mask operator==(const Symbol& a, const Symbol& b) {
  const auto [x, y] = values_of(a, b);
  return equal(x, y);
}

Symbol Symbol::read(const Tensor& table, const std::vector<Symbol>& index, const Dims& scores,
                    const Mask& pairs) {
  if (index.empty()) return from(table);
  const auto look_up = [scores, pairs](const Tensor& source, const std::vector<Tensor>& indices) {
    const Dims shape = shape_of_all(indices);
    std::vector<std::int64_t> places(static_cast<std::size_t>(shape.count()), 0);
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      const Size size = source.shape()[static_cast<int>(axis)];
      const std::vector<double> at = expand(indices[axis].detach().to(DType::f64), shape).to_vector();
      for (std::size_t i = 0; i < places.size(); ++i) {
        const bool inside = at[i] >= 0 && at[i] < static_cast<double>(size) && at[i] == std::trunc(at[i]);
        if (!inside)
          if (const auto pair = live_pair(static_cast<Size>(i), shape, scores, pairs))
            simd::fail_read(source.shape(), static_cast<int>(axis), at[i], *pair);
        places[i] = places[i] * size + (inside ? static_cast<Size>(at[i]) : 0);
      }
    }
    if (source.count() == 0) return full(shape, 0, source.dtype());
    const Tensor column = reshape(source, {source.count(), 1});
    return reshape(embedding(column, Indices(places, {shape.count()})), shape);
  };
  return made_of(index, Guard::none, look_up, {}, table);
}

}  // namespace tapestry
