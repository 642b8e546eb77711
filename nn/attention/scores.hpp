// All scores. To add one, write a class with prepare() and score() and its factory function in one of these files; then
// add a row to tests/nn/attention/score_table.cpp, the table of all scores to test.
#pragma once

#include "nn/attention/additive_scores.hpp"
#include "nn/attention/position_scores.hpp"
#include "nn/attention/similarity_scores.hpp"
