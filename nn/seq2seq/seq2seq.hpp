// All of nn/seq2seq: the recurrent encoder, Bahdanau's and Luong's decoders with attention, and a decoder without.
#pragma once

#include "nn/seq2seq/bahdanau.hpp"
#include "nn/seq2seq/decoder.hpp"
#include "nn/seq2seq/encoder.hpp"
#include "nn/seq2seq/luong.hpp"
#include "nn/seq2seq/plain.hpp"
#include "nn/seq2seq/translator.hpp"
