// The learner's own mechanism.
#pragma once

#include "lessons/26_programmable/mechanism.hpp"

namespace lesson26 {

tapestry::kit::Mechanism my_attention();

}  // namespace lesson26
