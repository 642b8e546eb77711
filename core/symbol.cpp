#include "core/symbol.hpp"

#include <algorithm>
#include <cstdint>

#include "core/broadcast.hpp"
#include "core/ops/join.hpp"
#include "core/ops/views.hpp"

namespace tapestry {

Symbol read(const Tensor& table, const std::vector<Symbol>& index) {
  if (index.empty()) return Symbol(table);
  Tensor all = index[0].tensor;
  for (const Symbol& one : index) all = add(all.detach().to(DType::f64), one.tensor.detach().to(DType::f64));
  const Dims shape = all.shape();
  std::vector<std::int64_t> place(static_cast<std::size_t>(shape.count()), 0);
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    const Size size = table.shape()[static_cast<int>(axis)];
    const std::vector<double> at = expand(index[axis].tensor.detach().to(DType::f64), shape).to_vector();
    for (std::size_t i = 0; i < place.size(); ++i)
      place[i] = place[i] * size + std::clamp<Size>(static_cast<Size>(at[i]), 0, std::max<Size>(0, size - 1));
  }
  const Tensor column = reshape(table, {table.count(), 1});
  return reshape(embedding(column, Indices(place, {shape.count()})), shape);
}

}  // namespace tapestry
