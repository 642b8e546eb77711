// Draws masks in a row: the first picture of lesson 07.
#include "lessons/07_masks/gallery.hpp"

#include <cmath>
#include <cstddef>

namespace tapestry::lesson07 {

void draw_masks(const std::vector<Mask>& masks, const std::vector<std::string>& names,
                const kit::Options& options) {
  const auto side = static_cast<std::size_t>(masks.front().shape()[0]);
  kit::Heatmap picture{"Keys that each query may attend to (filled: may attend): "};
  picture.column_axis = "keys", picture.row_axis = "queries";
  for (std::size_t m = 0; m < masks.size(); ++m) {
    picture.title += (m ? " | " : "") + names[m];
    if (m) picture.columns.push_back("");
    for (std::size_t j = 0; j < side; ++j) picture.columns.push_back(std::to_string(j + 1));
  }
  for (std::size_t i = 0; i < side; ++i) {
    picture.rows.push_back(std::to_string(i + 1));
    for (std::size_t m = 0; m < masks.size(); ++m) {
      if (m) picture.values.push_back(std::nan(""));  // a gap
      const std::vector<bool> allowed = masks[m].to_vector();
      for (std::size_t j = 0; j < side; ++j) picture.values.push_back(allowed[i * side + j]);
    }
  }
  kit::show(picture, options.out / "masks.svg");
}

}  // namespace tapestry::lesson07
