// The vocabulary of nn/, made available in the kit's namespace.
#pragma once

#include "lessons/kit/text/text.hpp"
#include "nn/text/vocabulary.hpp"

namespace tapestry::kit {

using tapestry::Ids;
using tapestry::kEnd;
using tapestry::kPad;
using tapestry::kStart;
using tapestry::kUnk;
using tapestry::Vocabulary;
using tapestry::Words;

}  // namespace tapestry::kit
