#include "nn/vision/windows.hpp"

#include <string>
#include <utility>
#include <vector>

#include "core/ops/join.hpp"
#include "core/ops/views.hpp"

namespace tapestry {
namespace {

/// Axes of an image: rows and columns, followed by channels.
struct Axes {
  int rows, columns;
};

Axes axes_of(const Tensor& x, Size size, Size stride, const char* op, CallSite at) {
  if (x.rank() != 3 && x.rank() != 4)
    fail("[{}] x {} must be an image (H, W, C) or a batch of images (B, H, W, C) ({}:{})", op, describe(x),
         at.file, at.line);
  if (size < 1 || stride < 1)
    fail("[{}] size and stride must be at least 1, got {} and {} ({}:{})", op, size, stride, at.file,
         at.line);
  return {x.rank() - 3, x.rank() - 2};
}

/// Returns the shape of x with other numbers of rows, columns and channels.
Dims grid(const Tensor& x, Size rows, Size columns, Size channels) {
  Dims shape = x.shape();
  shape[x.rank() - 3] = rows, shape[x.rank() - 2] = columns, shape[x.rank() - 1] = channels;
  return shape;
}

}  // namespace

Tensor patches(const Tensor& x, Size size, CallSite at) {
  const Axes axis = axes_of(x, size, size, "patches", at);
  const Size rows = x.size(axis.rows) / size, columns = x.size(axis.columns) / size, channels = x.size(-1);
  if (rows * size != x.size(axis.rows) || columns * size != x.size(axis.columns))
    fail(
        "[patches] x {} cannot be split into patches of {} × {}; its height and width must be multiples of "
        "{} ({}:{})",
        describe(x), size, size, size, at.file, at.line);
  const bool batch = x.rank() == 4;
  const Dims cut = batch ? Dims{x.size(0), rows, size, columns, size, channels}
                         : Dims{rows, size, columns, size, channels};
  const Dims order = batch ? Dims{0, 1, 3, 2, 4, 5} : Dims{0, 2, 1, 3, 4};
  return reshape(permute(reshape(x, cut, at), order, at), grid(x, rows, columns, size * size * channels), at);
}

Tensor windows(const Tensor& x, Size size, Size stride, CallSite at) {
  const Axes axis = axes_of(x, size, stride, "windows", at);
  const Size height = x.size(axis.rows), width = x.size(axis.columns);
  if (height < size || width < size)
    fail("[windows] x {} must be at least as large as a window of {} × {} ({}:{})", describe(x), size, size,
         at.file, at.line);
  const Size rows = (height - size) / stride + 1, columns = (width - size) / stride + 1;
  // For each pixel of a window, one view of that pixel in all windows.
  std::vector<Tensor> pixels;
  for (Size row = 0; row < size; ++row) {
    const Tensor line = slice(x, axis.rows, row, row + (rows - 1) * stride + 1, stride, at);
    for (Size column = 0; column < size; ++column)
      pixels.push_back(slice(line, axis.columns, column, column + (columns - 1) * stride + 1, stride, at));
  }
  return concat(pixels, -1, at);
}

Convolution::Convolution(Parent parent, Size in, Size out, Size size, Bias with_bias)
    : Module(std::move(parent)), linear{{*this, ""}, size * size * in, out, with_bias}, in_(in), size_(size) {
  if (size < 1 || size % 2 == 0)
    fail("[convolution{}] size must be odd, so that a window has a centre, got {} × {}", in_quotes(), size,
         size);
}

Tensor Convolution::operator()(const Tensor& x, CallSite at) const {
  if (x.rank() != 4 || x.size(-1) != in_)
    fail("[convolution{}] x {} must have shape (B, H, W, {}) ({}:{})", in_quotes(), describe(x), in_, at.file,
         at.line);
  const Size edge = size_ / 2;
  return linear(windows(pad(pad(x, 1, edge, edge, 0, at), 2, edge, edge, 0, at), size_, 1, at), at);
}

}  // namespace tapestry
