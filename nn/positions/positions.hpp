// All position schemes.
#pragma once

#include "nn/positions/absolute.hpp"
#include "nn/positions/relative.hpp"
#include "nn/positions/rotary.hpp"
