// Lesson 20 on a text, the course's own or any other (--data): train on its characters, validate, and write.
#pragma once

#include <string>

#include "lessons/20_gpt/training.hpp"
#include "nn/sample.hpp"

namespace tapestry::lesson20 {

struct TextSettings {
  std::string preset = "usual", prompt;
  kit::LanguageRecipe recipe;
  SamplingOptions sampling = {.end = -1, .temperature = 0.8};
  std::int64_t length = 500;
  bool fresh = false;
};

/// Adds the options for texts, --data first.
void offer(kit::Lesson& program, TextSettings& settings);
/// Takes from the preset what the command line did not give. Without --data and --prompt the preset is small. With
/// --prompt it writes on, and returns true: that is all.
bool only_writes(const kit::Lesson& program, const kit::Options& options, TextSettings& settings);

/// Trains, or goes on training, on options.data; reports the loss on the validation part; writes.
void learn_text(const TextSettings& settings, const kit::Options& options, kit::Report& report);
/// Goes on from these words, or begins a line where there are none, with the model that was trained into
/// options.out.
void write_on(const TextSettings& settings, const kit::Options& options, const std::string& words);

/// Losses per character on the end of the course's own text, which nobody trained on.
struct CourseLosses {
  double pairs = 0;  ///< of a table of pairs
  double gpt = 0;
};
/// Trains a small GPT, always anew, on the beginning of the course's own text.
CourseLosses learn_course(const TextSettings& settings, const kit::Options& options);
/// Lets that model write and prints it; returns how many of its pieces of 12 characters it has written before,
/// in per cent.
double write_course(const TextSettings& settings, const kit::Options& options, double temperature,
                    Size top_k);

}  // namespace tapestry::lesson20
