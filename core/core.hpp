// Everything you need to call and write ops. To write a kernel, also include core/tensor/map.hpp, which pulls
// in xsimd and nearly doubles the compile time.
#pragma once

#include "core/attention/attend.hpp"
#include "core/attention/linear_attend.hpp"
#include "core/check/gradcheck.hpp"
#include "core/ops/ops.hpp"
#include "core/tape/anomaly.hpp"
#include "core/tape/checkpoint.hpp"
#include "core/tape/derivatives.hpp"
#include "core/tape/node_info.hpp"
#include "core/tape/op.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/indices.hpp"
#include "core/tensor/mask.hpp"
#include "core/tensor/random.hpp"
#include "core/tensor/tensor.hpp"
