// 33.1 im2col: windows that slide over a picture
// implement, 15 minutes
//
// Cut a picture x (H, W, C) into all windows of k × k pixels whose upper left corners are `stride` apart:
//
//     y[r, c] = x[r · stride … + k − 1, c · stride … + k − 1] as one row        (H', W', k · k · C)
//     H' = (H − k) / stride + 1, rounded down, and W' likewise
//
// In a row the pixels stand line after line, the C numbers of a pixel side by side. Gradients must flow back
// to x. slice(x, axis, begin, end, step) takes begin, begin + step, … below end, which may not exceed the size.
#include "lessons/grader/answer.hpp"

Tensor im2col(const Tensor& x, Size k, Size stride) {
  const Size rows = (x.size(0) - k) / stride + 1, columns = (x.size(1) - k) / stride + 1;
  std::vector<Tensor> pixels;  // of all windows: their first, their second …, each (H', W', C)
  for (Size i = 0; i < k; ++i)
    for (Size j = 0; j < k; ++j) {
      //[ which pixels of x stand in row i and column j of their window?
      //: static_cast<void>(rows), static_cast<void>(columns);
      //: return not_written_yet();
      const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);  // one line of each window
      pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
      //]
    }
  return concat(pixels, -1);
}

// hint: The first pixel of all windows: which lines of x, and which columns? And the second one, to its right?
// hint: slice(x, axis, begin, end, step) takes begin, begin + step, … below end. Of the windows' pixels (i, j) the
//   first stands in line i of x, the next one `stride` further down, and there are `rows` of them.
// hint: slice(x, 0, i, i + (rows - 1) * stride + 1, ____), and then the same along axis 1, from j on.
//
// wrong: Lines and columns are exchanged: i counts the lines of a window, which lie along axis 0.
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Tensor lines = slice(x, 0, j, j + (rows - 1) * stride + 1, stride);
// + pixels.push_back(slice(lines, 1, i, i + (columns - 1) * stride + 1, stride));
// wrong: The windows are next to each other, whatever the stride: it has to be the step of the slices.
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Tensor lines = slice(x, 0, i, i + rows);
// + pixels.push_back(slice(lines, 1, j, j + columns));
// wrong: The first pixel of each window is followed by its neighbours: the slice has to go on by `stride`, its last
//   argument.
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1);
// + pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1));
// wrong: There are as many pixels (i, j) as windows, H' W', not k · k.
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Tensor lines = slice(x, 0, i, i + (k - 1) * stride + 1, stride);
// + pixels.push_back(slice(lines, 1, j, j + (k - 1) * stride + 1, stride));
// wrong: The slices go on to the picture's end, and are not equally long: of each pixel (i, j) there are H' W'.
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Tensor lines = slice(x, 0, i, x.size(0), stride);
// + pixels.push_back(slice(lines, 1, j, x.size(1), stride));
// wrong: The last slice ends beyond the picture. The last pixel stands (rows − 1) · stride behind the first, and end is
//   one more.
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Tensor lines = slice(x, 0, i, i + rows * stride, stride);
// + pixels.push_back(slice(lines, 1, j, j + columns * stride, stride));
// wrong: Each window got its neighbours' pixels: the slice began at i · stride. Within a window pixels are 1 apart,
//   whatever the stride.
// - const Tensor lines = slice(x, 0, i, i + (rows - 1) * stride + 1, stride);
// - pixels.push_back(slice(lines, 1, j, j + (columns - 1) * stride + 1, stride));
// + const Size down = std::min(i * stride, x.size(0) - (rows - 1) * stride - 1);
// + const Size right = std::min(j * stride, x.size(1) - (columns - 1) * stride - 1);
// + const Tensor lines = slice(x, 0, down, down + (rows - 1) * stride + 1, stride);
// + pixels.push_back(slice(lines, 1, right, right + (columns - 1) * stride + 1, stride));
// wrong: No gradient reaches x: it was detached.
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
  judge.claim("takes patches, where the stride is the window's size", [&] {
    judge.example("4 × 6 pixels of two numbers, k = stride = 2");
    const Tensor x = judge.normal({4, 6, 2});
    judge.same(im2col(x, 2, 2), by_loops(x, 2, 2), "the patches");
  });
  judge.claim("does so for any sizes", [&] {
    judge.each_size({{"height", 3, 7}, {"width", 3, 6}, {"channels", 1, 3}, {"k", 1, 3}, {"stride", 1, 3}},
                    [&](const Sizes& n) {
                      const Tensor x = judge.normal({n[0], n[1], n[2]});
                      judge.same(im2col(x, n[3], n[4]), by_loops(x, n[3], n[4]), "the windows");
                    },
                    {.larger = false});
  });
  judge.claim("adds up the gradients of a pixel that several windows see", [&] {
    judge.gradients([](const Tensor& x) { return im2col(x, 2, 1); }, {judge.normal({3, 4, 2})});
  });
}
