// Training of the models that the chapter compares.
#pragma once

#include <memory>

#include "lessons/35_cache/models.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson35 {

/// Trains a model of this kind to sort four to eight digits, for options.steps steps. Returns it in eval mode.
std::unique_ptr<LanguageModel> train_sorter(Kind kind, const kit::Options& options);

}  // namespace tapestry::lesson35
