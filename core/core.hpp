// All of core/ that calling and writing ops takes. Who writes a kernel also includes core/map.hpp, which
// brings xsimd and nearly doubles the compile time.
#pragma once

#include "core/checkpoint.hpp"
#include "core/create.hpp"
#include "core/derivatives.hpp"
#include "core/gradcheck.hpp"
#include "core/op.hpp"
#include "core/ops/ops.hpp"
#include "core/random.hpp"
#include "core/tape.hpp"
#include "core/tensor.hpp"
#include "core/values.hpp"
