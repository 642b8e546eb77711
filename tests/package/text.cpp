// A user's program that reads text: it links what nn/text needs, though the user never names that package.
#include "nn/text/word_piece.hpp"

tapestry::Ids ids_of(const char* text) { return tapestry::WordPiece::load("vocab.txt").encode(text); }
