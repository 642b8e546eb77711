// 33.1 im2col: im2col, sliding windows over a picture
// implement, 15 minutes
//
// Cut a picture x (H, W, C) into all windows of k × k pixels whose upper left corners are `stride` pixels apart.
// Return y (H', W', k · k · C):
//
//     y[r, c] = x[r · stride … + k − 1, c · stride … + k − 1] as one row
//     H' = (H − k) / stride + 1, rounded down, and W' likewise
//
// So y[r, c] has the window's pixels line by line, with the C numbers of a pixel next to each other. Gradients must
// flow back to x.
//
// The given code makes k · k tensors, one for each pixel (i, j) of a window. It concatenates them along the last
// axis. You write the tensor for one (i, j): the pixels at row i and column j of all windows, (H', W', C).
//
// slice(x, axis, begin, end, step) returns the indices begin, begin + step, … below end, and end may not exceed the
// size.
#include "lessons/grader/answer.hpp"

Tensor im2col(const Tensor& x, Size k, Size stride) {
  const Size rows = (x.size(0) - k) / stride + 1, columns = (x.size(1) - k) / stride + 1;
  std::vector<Tensor> pixels;  // the first pixel of all windows, the second …, each (H', W', C)
  for (Size i = 0; i < k; ++i)
    for (Size j = 0; j < k; ++j) {
      //[ which pixels of x are in row i and column j of their window?
      //: static_cast<void>(rows), static_cast<void>(columns);
      //: return not_written_yet();
      const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);  // one line of each window
      pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
      //]
    }
  return concat(pixels, -1);
}

// hint: Which lines of x, and which columns, contain the first pixel of a window? And the second pixel, to its right?
// hint: slice(x, axis, begin, end, step) returns begin, begin + step, … below end. The first window's pixel (i, j) is
//   in line i of x. The next window's is `stride` further down, and there are `rows` of them.
// hint: slice(x, 0, i, i + (rows - 1) * stride + 1, ____), and then the same along axis 1, starting at j.
//
// wrong: You exchanged lines and columns. i counts the lines of a window, which are along axis 0.
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Tensor lines = slice(x, 0, j, j + (rows - 1) * stride + 1, stride);
// + pixels.push_back(slice(lines, 1, i, i + (columns - 1) * stride + 1, stride));
// wrong: Your windows are one pixel apart, whatever the stride is. The slices must have the step `stride`.
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Tensor lines = slice(x, 0, i, i + rows);
// + pixels.push_back(slice(lines, 1, j, j + columns));
// wrong: Your slices contain every pixel of the range. They must advance by `stride`, the last argument of slice().
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1);
// + pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1));
// wrong: There is one pixel (i, j) for each window, so there are H' W' of them, not k · k.
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Tensor lines = slice(x, 0, i, i + (k - 1) * stride + 1, stride);
// + pixels.push_back(slice(lines, 1, j, j + (k - 1) * stride + 1, stride));
// wrong: Your slices extend to the picture's end and have different lengths. There must be H' W' pixels (i, j).
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Tensor lines = slice(x, 0, i, x.size(0), stride);
// + pixels.push_back(slice(lines, 1, j, x.size(1), stride));
// wrong: Your last slice ends beyond the picture. The index of the last pixel is (rows − 1) · stride larger than that
//   of the first, and `end` is one more.
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Tensor lines = slice(x, 0, i, i + rows * stride, stride);
// + pixels.push_back(slice(lines, 1, j, j + columns * stride, stride));
// wrong: Your slice begins at i · stride. Within a window, pixels are 1 apart, whatever the stride is.
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Size down = std::min(i * stride, x.size(0) - (rows - 1) * stride - 1);
// + const Size right = std::min(j * stride, x.size(1) - (columns - 1) * stride - 1);
// + const Tensor lines = slice(x, 0, down, down + (rows - 1) * stride + 1, stride);
// + pixels.push_back(slice(lines, 1, right, right + (columns - 1) * stride + 1, stride));
// wrong: No gradient reaches x, because you detached the slices.
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride).detach());

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

Tensor by_loops(const Tensor& x, Size k, Size stride) {
  const Size rows = (x.size(0) - k) / stride + 1, columns = (x.size(1) - k) / stride + 1;
  std::vector<double> all;
  for (Size r = 0; r < rows; ++r)
    for (Size c = 0; c < columns; ++c)
      for (Size i = 0; i < k; ++i)
        for (Size j = 0; j < k; ++j)
          for (Size n = 0; n < x.size(2); ++n) all.push_back(x.at({r * stride + i, c * stride + j, n}));
  return tensor(all, {rows, columns, k * k * x.size(2)}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("finds the four windows of 2 × 2 in nine pixels", [&] {
    judge.example("a grey picture of 3 × 3, stride 1");
    const Tensor x = judge.normal({3, 3, 1});
    judge.same(im2col(x, 2, 1), by_loops(x, 2, 1), "the windows");
  });
  judge.claim("cuts patches if the stride equals the window's size", [&] {
    judge.example("4 × 6 pixels of two numbers, k = stride = 2");
    const Tensor x = judge.normal({4, 6, 2});
    judge.same(im2col(x, 2, 2), by_loops(x, 2, 2), "the patches");
  });
  judge.claim("works for any sizes", [&] {
    judge.each_size({{"height", 3, 7}, {"width", 3, 6}, {"channels", 1, 3}, {"k", 1, 3}, {"stride", 1, 3}},
                    [&](const Sizes& n) {
                      const Tensor x = judge.normal({n[0], n[1], n[2]});
                      judge.same(im2col(x, n[3], n[4]), by_loops(x, n[3], n[4]), "the windows");
                    },
                    {.larger = false});
  });
  judge.claim("adds up the gradients of a pixel that is in several windows", [&] {
    judge.gradients([](const Tensor& x) { return im2col(x, 2, 1); }, {judge.normal({3, 4, 2})});
  });
}
