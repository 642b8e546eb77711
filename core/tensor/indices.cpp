#include "core/tensor/indices.hpp"

#include <algorithm>

namespace tapestry {

Indices Indices::rows(std::initializer_list<std::initializer_list<std::int64_t>> rows) {
  const std::size_t columns = rows.size() > 0 ? rows.begin()->size() : 0;
  Indices result;
  std::int64_t* out = result.allocate({static_cast<Size>(rows.size()), static_cast<Size>(columns)});
  for (const auto& row : rows) {
    if (row.size() != columns)
      fail("[rows] rows must have equal lengths, got {} and {}; pad the shorter ones", columns, row.size());
    out = std::copy(row.begin(), row.end(), out);
  }
  return result;
}

Indices Indices::reshape(const Dims& shape) const {
  if (shape.count() != count())
    fail("[reshape] ids of shape {} do not fill shape {}", to_string(shape_), to_string(shape));
  Indices result = *this;
  result.take_shape(shape);
  return result;
}

Indices Indices::columns(Size begin, Size end) const {
  if (rank() == 0 || begin < 0 || end > shape_.back() || begin > end)
    fail("[columns] {} to {} does not fit ids of shape {}", begin, end, to_string(shape_));
  Indices result = *this;
  result.shape_.back() = end - begin;
  result.offset_ += begin * stride_.back();
  return result;
}

Indices Indices::column(Size index) const {
  Indices result = columns(index, index + 1);
  result.shape_.erase(rank() - 1);
  result.stride_.erase(rank() - 1);
  return result;
}

}  // namespace tapestry
