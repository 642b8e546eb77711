// Includes every header of core/ops. attend() and linear_attend() are in core/attention.
#pragma once

#include "core/ops/additive.hpp"
#include "core/ops/arithmetic.hpp"
#include "core/ops/dropout.hpp"
#include "core/ops/einsum.hpp"
#include "core/ops/join.hpp"
#include "core/ops/loss.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/norm.hpp"
#include "core/ops/order.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/recurrent.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/softmax.hpp"
#include "core/ops/sparse.hpp"
#include "core/ops/views.hpp"
