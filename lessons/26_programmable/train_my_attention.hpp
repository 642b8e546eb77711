// `lessons/run 26 --my-attention`: checks, times, draws and trains the learner's mechanism.
#pragma once

#include <string>

#include "lessons/26_programmable/mechanism.hpp"
#include "lessons/kit/program/options.hpp"

namespace lesson26 {

/// Returns whether the mechanism is only a score by element under the causal mask. nn's LanguageModel has
/// this mask, so the score can be used there as score_mod = {own.learned, own.score_mod}. `longest` is the
/// length of the texts.
bool fits_language_model(const tapestry::kit::Mechanism& own, tapestry::Size longest);

/// Checks, times, draws and trains the mechanism. The task is "voices", the puzzle of section 3, with one
/// block, or "sorting", lesson 20's task with its model of three blocks. Both tasks train by prediction. So a
/// mechanism that looks ahead is not trained, or, if it has no mask, it is trained with a causal one.
void train_my_attention(tapestry::kit::Mechanism own, const std::string& task,
                        const tapestry::kit::Options& options, tapestry::kit::Report& report);

}  // namespace lesson26
