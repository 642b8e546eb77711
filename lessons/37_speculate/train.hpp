// Training of the target and of the draft.
#pragma once

#include "lessons/20_gpt/char_corpus.hpp"
#include "nn/transformer/language_model.hpp"

namespace tapestry::lesson37 {

/// Trains the model on windows of kContext characters for `steps` steps, and leaves it in eval mode.
void train(LanguageModel& model, const Ids& text, Size steps, std::uint64_t seed);

}  // namespace tapestry::lesson37
