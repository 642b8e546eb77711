#include "lessons/kit/train/saved_size.hpp"

#include <algorithm>

#include "core/tensor/error.hpp"

namespace tapestry::kit {

Size saved_size(const TrainingState& saved, const std::string& name, Size least, Size most) {
  const std::uint64_t value = saved.integer(name);
  if (value < static_cast<std::uint64_t>(least) || value > static_cast<std::uint64_t>(most))
    fail("\"{}\" must be from {} to {}, got {}", name, least, most, value);
  return static_cast<Size>(value);
}

ModelBounds bounds_of_model(const TrainingState& saved) {
  const auto model = saved.sections.find("model");
  if (model == saved.sections.end()) fail("the checkpoint must have a section \"model\"");
  ModelBounds bounds{static_cast<Size>(model->second.size()), 0};
  for (const auto& [name, weight] : model->second)
    for (const Size axis : weight.shape()) bounds.width = std::max(bounds.width, axis);
  return bounds;
}

}  // namespace tapestry::kit
