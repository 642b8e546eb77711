// Includes the parts of the kit that every lesson uses: options, report, progress, pictures and random numbers.
#pragma once

#include "lessons/kit/picture/picture.hpp"
#include "lessons/kit/program/options.hpp"
#include "lessons/kit/program/progress.hpp"
#include "lessons/kit/program/report.hpp"
#include "lessons/kit/random.hpp"
