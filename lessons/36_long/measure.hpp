// Measurements of a language model beyond its trained length: the loss at each position, and the weight of the first
// token.
#pragma once

#include <string>
#include <vector>

#include "lessons/20_gpt/char_corpus.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/positions/rotary.hpp"
#include "nn/transformer/language_model.hpp"

namespace tapestry::lesson36 {

/// Length of the texts in training, and length of the texts in the tests, in characters.
inline constexpr Size kTrained = 64, kLong = 512;
/// Width of a head; it has kHeadWidth / 2 rotary pairs.
inline constexpr Size kHeadWidth = 16;

/// One way to read a long text with the trained weights.
struct Method {
  std::string name = {};      ///< for tables and pictures
  RotaryOptions rotary = {};  ///< scaling of the rotary frequencies
  Size window = 0;            ///< sliding window in keys; 0: none
  Size sink_tokens = 0;       ///< number of first keys that stay visible
};

/// Returns the options of a small rotary model: two blocks of width 64 with four heads.
TransformerOptions model_options(const Method& method, Size vocabulary);

/// Returns windows of kLong characters that begin every kLong / 2 characters, at most `most` of them.
kit::Windows long_windows(const Ids& text, Size most);

/// Returns the mean loss in nats at each position, from 0 to kLong − 1. The mean is over the windows.
std::vector<double> loss_by_position(LanguageModel& model, const kit::Windows& windows);

/// Returns the mean of values[from], …, values[to − 1].
double mean_between(const std::vector<double>& values, Size from, Size to);

/// Returns the mean weight of token 0 in each layer, over the heads and the queries at positions `from` to `to` − 1.
std::vector<double> first_token_weight(LanguageModel& model, const kit::Windows& windows, Size from, Size to);

}  // namespace tapestry::lesson36
