// The list of the gallery. Choose the mechanism that is most like yours, and change it. Mechanisms by element
// are in gallery_element.cpp. Those by ops, and those that compute their own score, are in gallery_ops.cpp.
#include "lessons/26_programmable/gallery.hpp"

#include "lessons/26_programmable/gallery_element.hpp"
#include "lessons/26_programmable/gallery_ops.hpp"

namespace lesson26 {

const std::vector<GalleryEntry>& gallery() {
  static const std::vector<GalleryEntry> all = {
      {causal(), "element", "no query sees later keys", "Vaswani et al. 2017", 6},
      {sliding_window(), "element", "the last six keys", "Beltagy et al. 2020", 8},
      {dilated(), "element", "every third key", "Child et al. 2019", 8},
      {prefix(), "element", "all queries see the whole prompt", "Raffel et al. 2020", 7},
      {documents(), "element", "several texts in one row", "Krell et al. 2021", 9},
      {block_diagonal(), "element", "blocks of six", "Qiu et al. 2020", 7},
      {global_and_window(), "element", "neighbours; global tokens: two", "Beltagy et al. 2020", 8},
      {tree(), "element", "each node sees its ancestors", "Cai et al. 2024", 9},
      {alibi_bias(), "element", "far keys count less", "Press et al. 2022", 12},
      {relative_bias(), "element", "a learned bias per distance", "Liu et al. 2021", 11},
      {buckets(), "element", "far distances share a bias", "Raffel et al. 2020", 15},
      {soft_cap(), "element", "scores stay below a cap", "Gemma 2, 2024", 5},
      {distance_decay(), "element", "falls as the log of the distance", "Chi et al. 2022", 14},
      {learned_temperature(), "element", "a learned temperature per head", "Lin et al. 2018", 7},
      {forgetting(), "element", "learned gates make the past fade", "Lin et al. 2025", 14},
      {rotary(), "ops", "queries and keys are rotated", "Su et al. 2021", 12},
      {cosine(), "ops", "the cosine of query and key", "Henry et al. 2020", 8},
      {normed_additive(), "mechanism", "a tanh layer computes the score", "Salimans & Kingma 2016", 9},
      {coverage(), "ops", "scores depend on past weights", "Tu et al. 2016", 15},
      {local_p(), "ops", "near a predicted position", "Luong et al. 2015", 12},
      {differential(), "ops", "one attention minus another", "Ye et al. 2024", 12},
      {talking_heads(), "ops", "heads mix scores and weights", "Shazeer et al. 2020", 13},
      {selective(), "ops", "hides keys from later queries", "Leviathan et al. 2024", 13},
      {sigmoid_attention(), "ops", "a sigmoid for each key", "Ramapuram et al. 2024", 7},
      {output_gate(), "ops", "a gate scales each head's result", "Qiu et al. 2025", 8},
      {sink(), "element", "a learned sink takes some weight", "Miller 2023; Xiao et al. 2023; gpt-oss, 2025",
       6}};
  return all;
}

}  // namespace lesson26
