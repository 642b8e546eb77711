// All of nn/transformer.
#pragma once

#include "nn/positions/positions.hpp"
#include "nn/transformer/encoder.hpp"
#include "nn/transformer/language_model.hpp"
#include "nn/transformer/translator.hpp"
