#include "nn/vision/windows.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/matmul.hpp"
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

Convolution::Convolution(Parent parent, Size in, Size out, Size size, Bias with_bias,
                         const ConvolutionOptions& options)
    : Module(std::move(parent)),
      linear{{*this, ""}, size * size * in / std::max<Size>(options.groups, 1), out, with_bias},
      in_(in),
      size_(size),
      options_(options) {
  if (size < 1 || size % 2 == 0)
    fail("[convolution{}] size must be odd, so that a window has a centre, got {} × {}", in_quotes(), size,
         size);
  if (options.stride < 1)
    fail("[convolution{}] stride must be at least 1, got {}", in_quotes(), options.stride);
  if (options.groups < 1 || in % options.groups != 0 || out % options.groups != 0)
    fail("[convolution{}] groups ({}) must be at least 1 and divide the {} input and {} output channels",
         in_quotes(), options.groups, in, out);
}

/// Multiplies windows (B, H', W', size · size · in) by the weights, each group of channels by its own.
Tensor Convolution::by_groups(const Tensor& seen, CallSite at) const {
  const Size groups = options_.groups, pixels = size_ * size_, in = in_ / groups,
             out = linear.weight.size(0) / groups, places = seen.size(0) * seen.size(1) * seen.size(2);
  const Tensor by_group = reshape(permute(reshape(seen, {places, pixels, groups, in}, at), {2, 0, 1, 3}, at),
                                  {groups, places, pixels * in}, at);
  const Tensor weight = reshape(linear.weight, {groups, out, pixels * in}, at);
  const Tensor product = permute(matmul(by_group, transpose(weight, -2, -1, at), at), {1, 0, 2}, at);
  const Tensor joined = reshape(product, {seen.size(0), seen.size(1), seen.size(2), groups * out}, at);
  return linear.bias.defined() ? add(joined, linear.bias, at) : joined;
}

Tensor Convolution::operator()(const Tensor& x, CallSite at) const {
  if (x.rank() != 4 || x.size(-1) != in_)
    fail("[convolution{}] x {} must have shape (B, H, W, {}) ({}:{})", in_quotes(), describe(x), in_, at.file,
         at.line);
  const Size edge = size_ / 2;
  const Tensor seen =
      windows(pad(pad(x, 1, edge, edge, 0, at), 2, edge, edge, 0, at), size_, options_.stride, at);
  return options_.groups == 1 ? linear(seen, at) : by_groups(seen, at);
}

}  // namespace tapestry
