// Lesson 20 on any text (--data): train on its characters, validate, and write.
#pragma once

#include <string>

#include "lessons/20_gpt/training.hpp"
#include "nn/sample.hpp"

struct TextSettings {
  std::string preset = "usual", prompt;
  tapestry::kit::LanguageRecipe recipe;
  tapestry::SamplingOptions sampling = {.end = -1, .temperature = 0.8};
  std::int64_t length = 500;
  bool fresh = false;
};

/// Adds the options for texts, --data first.
void offer(tapestry::kit::Lesson& program, TextSettings& settings);
/// Takes from the preset what the command line did not give.
void follow(const tapestry::kit::Lesson& program, const tapestry::kit::Options& options,
            TextSettings& settings);

/// Trains, or goes on training, on options.data; reports the loss on the validation part.
void learn_text(const TextSettings& settings, const tapestry::kit::Options& options,
                tapestry::kit::Report& report);
/// Goes on from these words, or begins a line where there are none, with the model that was trained into
/// options.out.
void write_on(const TextSettings& settings, const tapestry::kit::Options& options, const std::string& words);
