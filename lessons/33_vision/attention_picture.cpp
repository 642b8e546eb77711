// Draws the attention weights of a captioner, word by word.
#include "lessons/33_vision/attention_picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lessons/kit/picture/heatmap_grid.hpp"
#include "lessons/kit/picture/svg.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::lesson33 {
namespace {

constexpr double kPixel = 5, kWide = kSide * kPixel, kGap = 20, kLeast = 1.0 / 6;
constexpr std::size_t kAcross = 4;

std::string colour(const double* rgb, double share) {
  const auto part = [&](double x) { return static_cast<int>(255 * std::clamp(x * share, 0.0, 1.0) + 0.5); };
  return fmt::format("#{:02x}{:02x}{:02x}", part(rgb[0]), part(rgb[1]), part(rgb[2]));
}

/// Draws the scene with each place dimmed by its weight. Without weights, draws the scene as it is.
void draw(kit::Svg& out, double left, double top, const std::vector<double>& pixels,
          const std::vector<double>& weights) {
  out.rect(left, top, kWide, kWide, "#000000");
  for (Size y = 0; y < kSide; ++y)
    for (Size x = 0; x < kSide; ++x) {
      const double* rgb = &pixels[static_cast<std::size_t>((y * kSide + x) * kParts)];
      if (rgb[0] + rgb[1] + rgb[2] == 0) continue;
      const auto place = static_cast<std::size_t>(y / kPatch * kGrid + x / kPatch);
      const double share = weights.empty() ? 1 : kLeast + (1 - kLeast) * weights[place];
      out.rect(left + static_cast<double>(x) * kPixel, top + static_cast<double>(y) * kPixel, kPixel, kPixel,
               colour(rgb, share));
    }
  for (std::size_t place = 0; place < weights.size(); ++place) {  // empty places can have weight too
    const double x = left + static_cast<double>(place % kGrid * kPatch) * kPixel,
                 y = top + static_cast<double>(place / kGrid * kPatch) * kPixel;
    if (weights[place] >= 0.01)
      out.text(x + kPatch * kPixel - 3, y + kPatch * kPixel - 3,
               fmt::format("{:.0f} %", 100 * weights[place]), {9, kit::kPaper, kit::Anchor::end});
  }
}

std::string name_of(const Scene& scene, Size place) {
  if (place == scene.frame) return "white frame";
  for (const Thing& thing : {scene.first, scene.second})
    if (thing.place == place) return text_of({kFirstColour + thing.colour, kFirstShape + thing.shape});
  return "·";
}

}  // namespace

std::string svg(const AttentionPicture& picture) {
  const std::vector<double> pixels = pixels_of(picture.scene);
  const std::size_t panels = picture.words.size() + 1, lines = (panels + kAcross - 1) / kAcross;
  kit::Svg out(24 + kAcross * (kWide + kGap), 76 + static_cast<double>(lines) * (kWide + 2 * kGap),
               picture.title);
  out.text(24, 32, picture.title, {17, kit::kInk, kit::Anchor::start, true});
  out.text(24, 52, "A place with weight 1 is as bright as in the picture; with weight 0, a sixth as bright.",
           {12});
  for (std::size_t i = 0; i < panels; ++i) {
    const double left = 24 + static_cast<double>(i % kAcross) * (kWide + kGap),
                 top = 84 + static_cast<double>(i / kAcross) * (kWide + 2 * kGap);
    out.text(left, top - 6, i == 0 ? "the picture" : picture.words[i - 1],
             {13, kit::kInk, kit::Anchor::start, true});
    draw(out, left, top, pixels, i == 0 ? std::vector<double>{} : picture.weights[i - 1]);
  }
  return out.document();
}

std::string text(const AttentionPicture& picture, const kit::Terminal& terminal) {
  std::string out = "  The picture, place by place:\n";
  for (Size row = 0; row < kGrid; ++row) {
    out += "   ";
    for (Size column = 0; column < kGrid; ++column)
      out += " " + kit::pad_right(name_of(picture.scene, row * kGrid + column), 16);
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n";
  }
  kit::HeatmapGrid grid{picture.title, {}, static_cast<Size>(picture.words.size())};
  for (std::size_t i = 0; i < picture.words.size(); ++i) {
    kit::Heatmap map{picture.words[i], {}, {}, picture.weights[i]};
    map.columns.assign(kGrid, " "), map.rows.assign(kGrid, " ");
    grid.maps.push_back(std::move(map));
  }
  return out + "\n" + text(grid, terminal);
}

}  // namespace tapestry::lesson33
