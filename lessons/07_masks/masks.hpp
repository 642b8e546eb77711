// What the two files of lesson 07 share: the attention that lesson.cpp builds, and how it is looked at.
#pragma once

#include <functional>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"

namespace masks {

using tapestry::Mask;
using tapestry::Tensor;
using tapestry::kit::farthest;
using tapestry::kit::largest;

// Parts 1 to 3, lesson.cpp.
Tensor keep(const Mask& mask, const Tensor& x);
Tensor attend_by_hand(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask);
using Three = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>;
std::vector<Tensor> both_ways(const Three& f, const std::vector<Tensor>& qkv, std::uint64_t seed);
Tensor poisoned(const Tensor& x, const Mask& kept);

// Parts 4 and 5, clinic.cpp.
void show_clinic(const tapestry::kit::Options& options, tapestry::kit::Report& report);
void show_checks(const tapestry::kit::Options& options, tapestry::kit::Report& report);

}  // namespace masks
