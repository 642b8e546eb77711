// Everything for sequence-to-sequence models: the encoder, and decoders with attention (Bahdanau's, Luong's)
// and without.
#pragma once

#include "nn/seq2seq/bahdanau.hpp"
#include "nn/seq2seq/decoder.hpp"
#include "nn/seq2seq/encoder.hpp"
#include "nn/seq2seq/luong.hpp"
#include "nn/seq2seq/plain.hpp"
#include "nn/seq2seq/translator.hpp"
