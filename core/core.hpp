// All of core/.
#pragma once

#include "core/checkpoint.hpp"
#include "core/create.hpp"
#include "core/derivatives.hpp"
#include "core/gradcheck.hpp"
#include "core/map.hpp"
#include "core/op.hpp"
#include "core/ops/ops.hpp"
#include "core/random.hpp"
#include "core/tape.hpp"
#include "core/tensor.hpp"
#include "core/values.hpp"
