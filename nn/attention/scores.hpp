// All scores. To add one: a class with prepare() and score() and the function that makes it, in one of these
// files; and a row in tests/nn/attention/score_table.cpp, which drives its tests.
#pragma once

#include "nn/attention/additive_scores.hpp"
#include "nn/attention/position_scores.hpp"
#include "nn/attention/similarity_scores.hpp"
