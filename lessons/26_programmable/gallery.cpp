// The gallery's list. Look for the mechanism that is nearest to yours, and change it: those by element are in
// gallery_element.cpp, those by ops and of their own score in gallery_ops.cpp.
#include "lessons/26_programmable/gallery.hpp"

#include "lessons/26_programmable/gallery_element.hpp"
#include "lessons/26_programmable/gallery_ops.hpp"

namespace lesson26 {

const std::vector<GalleryEntry>& gallery() {
  static const std::vector<GalleryEntry> all = {
      {causal(), "element", "nobody looks ahead", "Vaswani et al. 2017", 6},
      {sliding_window(), "element", "the last six", "Beltagy et al. 2020", 8},
      {dilated(), "element", "every third", "Child et al. 2019", 8},
      {prefix(), "element", "the prompt sees itself whole", "Raffel et al. 2020", 7},
      {documents(), "element", "several texts in one row", "Krell et al. 2021", 9},
      {block_diagonal(), "element", "blocks of six", "Qiu et al. 2020", 7},
      {global_and_window(), "element", "neighbours, and two for all", "Beltagy et al. 2020", 8},
      {tree(), "element", "only one's ancestors", "Cai et al. 2024", 9},
      {alibi_bias(), "element", "far keys count less", "Press et al. 2022", 12},
      {relative_bias(), "element", "a number for each distance", "Liu et al. 2021", 11},
      {buckets(), "element", "far distances share a number", "Raffel et al. 2020", 15},
      {soft_cap(), "element", "no score beyond a cap", "Gemma 2, 2024", 5},
      {distance_decay(), "element", "falls as the log of the distance", "Chi et al. 2022", 14},
      {learned_temperature(), "element", "each head as sharp as it likes", "Lin et al. 2018", 7},
      {forgetting(), "element", "the past fades, place by place", "Lin et al. 2025", 14},
      {rotary(), "ops", "turn by place, then compare", "Su et al. 2021", 12},
      {cosine(), "ops", "directions alone", "Henry et al. 2020", 8},
      {normed_additive(), "mechanism", "a layer of tanh compares", "Salimans & Kingma 2016", 9},
      {coverage(), "ops", "what was read is remembered", "Tu et al. 2016", 15},
      {local_p(), "ops", "near a place that is predicted", "Luong et al. 2015", 12},
      {differential(), "ops", "one attention less another", "Ye et al. 2024", 12},
      {talking_heads(), "ops", "heads mix scores and weights", "Shazeer et al. 2020", 13},
      {sigmoid_attention(), "ops", "each key by itself", "Ramapuram et al. 2024", 7},
      {sink(), "element", "may look at nothing", "Miller 2023; Xiao et al. 2023", 1}};
  return all;
}

}  // namespace lesson26
