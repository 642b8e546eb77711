// Test of the sorters, and logits from a cache.
#pragma once

#include "lessons/kit/kit.hpp"
#include "nn/transformer/language_model.hpp"

namespace tapestry::lesson35 {

/// Returns the percentage of held-out strings of `fewest` to eight digits whose digits are all right. All digits
/// that the model writes by itself are right if and only if each digit has the largest logit after the right digits
/// before it. So one pass over the right answers is enough.
double percent_sorted(const LanguageModel& gpt, Size fewest, const kit::Options& options);

/// Returns the logits (B, T, V) of ids (B, T), computed one token at a time.
Tensor logits_with_cache(const LanguageModel& gpt, const Indices& ids, StackCache& cache);

}  // namespace tapestry::lesson35
