// All that a lesson needs besides its idea.
#pragma once

#include "lessons/kit/options.hpp"
#include "lessons/kit/picture.hpp"
#include "lessons/kit/progress.hpp"
#include "lessons/kit/random.hpp"
#include "lessons/kit/report.hpp"
