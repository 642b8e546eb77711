// `lessons/run 26 --my-attention`: checks, times, draws and trains the learner's mechanism.
#pragma once

#include <string>

#include "lessons/26_programmable/mechanism.hpp"
#include "lessons/kit/program/options.hpp"

namespace lesson26 {

/// Whether it is a score by element and nothing else, under the causal mask, which nn's LanguageModel has; so
/// it goes there as score_mod = {own.learned, own.score}. `longest`: of the texts.
bool fits_language_model(const tapestry::kit::Mechanism& own, tapestry::Size longest);

/// task: "voices", the puzzle of section 3, with one block; "sorting", lesson 20's task with its model of
/// three blocks. Both are learned by predicting: one that looks ahead is not trained, or without a mask of
/// its own with a causal one.
void train_my_attention(tapestry::kit::Mechanism own, const std::string& task,
                        const tapestry::kit::Options& options, tapestry::kit::Report& report);

}  // namespace lesson26
