#include "lessons/03_training/recording.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "core/core.hpp"
#include "lessons/kit/picture/contour.hpp"
#include "lessons/kit/program/files.hpp"

namespace tapestry::lesson03 {
namespace {

using Json = nlohmann::ordered_json;

const kit::SquareGrid kPlane{-1.15, 1.15, 29};
constexpr double kSure = 8, kUnits = 40;  // log-odds are clamped to ±kSure, far from the border

Json rounded(const std::vector<double>& values, double unit) {
  Json all = Json::array();
  for (const double value : values) all.push_back(std::lround(value / unit));
  return all;
}

}  // namespace

void TrainingRecorder::after(Size step, const Network& network) {
  const Tensor z = network(tensor(kPlane.points(), {kPlane.points_per_side * kPlane.points_per_side, 2}));
  steps.push_back(step);
  log_odds.push_back((select(z, -1, 1) - select(z, -1, 0)).to_vector());
}

void save_recordings(const std::array<Trained, 3>& trained, const kit::Points& points,
                     const kit::Options& options) {
  Json data = {{"least", kPlane.min}, {"most", kPlane.max}, {"side", kPlane.points_per_side}};
  for (Size label = 0; label < kClasses; ++label) {  // in hundredths: x, y, x, y, …
    const Tensor of_one = slice(points.x, 0, label, points.x.size(0), kClasses);
    data["points"].push_back(rounded(of_one.to_vector(), 0.01));
  }
  for (const Trained& one : trained) {
    Json right = Json::array(), steps = Json::array(), units = Json::array(), maps = Json::array();
    for (std::size_t i = 0; i < one.recorder.steps.size(); ++i) {
      const auto step = static_cast<double>(one.recorder.steps[i]);
      const auto at = std::find(one.held_out.x.begin(), one.held_out.x.end(), step) - one.held_out.x.begin();
      right.push_back(one.held_out.y[static_cast<std::size_t>(at)]);
      std::vector<double> odds = one.recorder.log_odds[i];
      double most = 1e-9;
      for (double& value : odds) {
        value = std::clamp(value, -kSure, kSure);
        most = std::max(most, std::abs(value));
      }
      steps.push_back(std::to_string(one.recorder.steps[i]));
      units.push_back(std::round(1e5 * most / kUnits) / 1e5);
      maps.push_back(rounded(odds, most / kUnits));
    }
    data["optimisers"].push_back(
        {{"name", one.loss.name}, {"steps", steps}, {"right", right}, {"units", units}, {"log_odds", maps}});
  }
  kit::write_atomically(options.out / "border_over_training.json", data.dump() + "\n");
}

}  // namespace tapestry::lesson03
