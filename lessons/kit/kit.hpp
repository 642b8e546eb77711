// All that a lesson needs besides its idea.
#pragma once

#include "lessons/kit/picture/picture.hpp"
#include "lessons/kit/program/options.hpp"
#include "lessons/kit/program/progress.hpp"
#include "lessons/kit/program/report.hpp"
#include "lessons/kit/random.hpp"
