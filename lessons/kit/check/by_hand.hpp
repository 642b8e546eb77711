// "By hand equals nn/": the check that a lesson ends its building with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "lessons/kit/program/report.hpp"

namespace tapestry::kit {

/// Two ways to the same f64 tensor. Gradcheck compares the rules of `by_hand` with differences, for all
/// leaves; then its value, and all leaves' gradients for one random cotangent, are compared with those of
/// `by_nn`, which may be 1e-12 apart. One line, "name: gradcheck, 156 derivatives; nn/ the same to 1e-12 ok",
/// and gradcheck's own report where it fails. Returns whether both hold.
bool check_by_hand(Report& report, const std::string& name, const std::function<Tensor()>& by_hand,
                   const std::function<Tensor()>& by_nn, const std::vector<Tensor>& leaves,
                   std::uint64_t seed);

}  // namespace tapestry::kit
