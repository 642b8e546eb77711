// Lesson 20 on the course's text or on your own (--data): trains on characters, validates, and generates text.
#pragma once

#include <string>

#include "lessons/20_gpt/train_on_text.hpp"
#include "nn/sample.hpp"

namespace tapestry::lesson20 {

struct TextSettings {
  std::string preset = "usual", prompt;
  LanguageRecipe recipe;
  SamplingOptions sampling = {.end = -1, .temperature = 0.8};
  std::int64_t length = 500;
  bool fresh = false;
};

/// Adds the options for texts, --data first.
void add_options(kit::Lesson& program, TextSettings& settings);
/// Fills the settings that the command line did not give from the preset. Without --data and --prompt, the
/// preset is small. With --prompt, generates text and returns true; nothing is trained.
bool only_writes(const kit::Lesson& program, const kit::Options& options, TextSettings& settings);

/// Trains on options.data, or resumes the training. Reports the loss on the validation part, and generates
/// text.
void learn_text(const TextSettings& settings, const kit::Options& options, kit::Report& report);
/// Generates text after these words, or after a line break if there are none, with the trained model in
/// options.out.
void write_on(const TextSettings& settings, const kit::Options& options, const std::string& words);

/// Losses per character on the end of the course's text, which is not used for training.
struct CourseLosses {
  double pairs = 0;  ///< of a bigram table
  double gpt = 0;
};
/// Trains a small GPT on the beginning of the course's text, always from the start.
CourseLosses learn_course(const TextSettings& settings, const kit::Options& options);
/// Generates text with this model and prints it. Returns the percentage of its pieces of 12 characters that the
/// model had already written before.
double write_course(const TextSettings& settings, const kit::Options& options, double temperature,
                    Size top_k);

}  // namespace tapestry::lesson20
