// Implements Probe: runs f on a tape for its gradients, and without a tape for its differences.
#include "core/check/probe.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/tape/node_info.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"

namespace tapestry::detail {

namespace {

void require_f64(const Tensor& x, const std::string& label) {
  if (x.dtype() != DType::f64)
    fail(
        "[gradcheck] {} of shape {} must be f64, got {}; convert it with "
        ".to(DType::f64), or the model with clone(model, DType::f64)",
        label, describe(x), name_of(x.dtype()));
}

std::string ops_of(const Tape& tape) {
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(tape.size(), 8); ++i)
    names += fmt::format("{}{}", i ? ", " : "", tape.node(i).op);
  if (tape.size() > 8) names += fmt::format(", … ({} ops)", tape.size());
  return names.empty() ? "a function that records nothing" : names;
}

/// Sets the target to its base value plus `h` times the line's direction.
void move(CheckTarget& target, const Line& line, double h) {
  double* data = target.value.mutable_data<double>();
  const auto put = [&](Size i, double by) {
    data[offset_of(i, target.value.shape(), target.value.strides())] =
        target.base[static_cast<std::size_t>(i)] + by;
  };
  if (line.index >= 0)
    put(line.index, h);
  else
    for (std::size_t i = 0; i < line.direction.size(); ++i) put(static_cast<Size>(i), h * line.direction[i]);
  mark_written(target.value);
}

}  // namespace

Probe::Probe(const CheckedFunction& f, const GradcheckInputs& inputs, const GradcheckInputs& leaves,
             const GradcheckOptions& options)
    : f_(f), epsilon_(options.epsilon), seed_(options.seed), random_(random_state()) {
  int number = 0;
  for (const Tensor& x : inputs.list) {
    const std::string label = fmt::format("argument {}", number++);
    require_f64(x, label);
    arguments_.push_back(Tensor::uninitialised(x.shape(), DType::f64));
    assign(arguments_.back(), x.detach());
    add_target(arguments_.back(), label);
  }
  for (const Tensor& leaf : leaves.list) {
    const std::string label =
        leaf.name().empty() ? fmt::format("leaf {}", number) : fmt::format("\"{}\"", leaf.name());
    ++number;
    require_f64(leaf, label);
    if (!leaf.requires_grad())
      fail("[gradcheck] {} of shape {} must require a gradient; pass leaves that are not frozen", label,
           describe(leaf));
    const auto same = [&](const CheckTarget& t) { return &t.value.impl() == &leaf.impl(); };
    if (std::none_of(targets_.begin(), targets_.end(), same)) add_target(leaf, label);
  }
  if (targets_.empty())
    fail("[gradcheck] inputs and leaves must not both be empty; pass at least one tensor");
  differentiate();
}

void Probe::add_target(const Tensor& value, std::string label) {
  CheckTarget& target = targets_.emplace_back();
  target.value = value;
  target.label = std::move(label);
  target.base = value.to_vector();
}

/// Computes the analytic gradients on a tape.
void Probe::differentiate() {
  Tape tape;
  std::vector<Tensor> xs;
  for (const Tensor& argument : arguments_) xs.push_back(variable(argument));
  const std::vector<Tensor> given = xs;
  for (std::size_t i = arguments_.size(); i < targets_.size(); ++i) xs.push_back(targets_[i].value);
  random_state() = random_;
  const Tensor y = f_(given);
  if (y.dtype() != DType::f64)
    fail("[gradcheck] f must return f64 for f64 arguments, got {}; use one dtype inside f",
         name_of(y.dtype()));
  ops_ = ops_of(tape);
  cotangent_ = random_normal(y.shape(), seed_, DType::f64).to_vector();
  loss_ = weighted_sum(y);
  const bool depends = (y.impl().node >= 0 && !y.impl().computed_off_tape) || y.requires_grad();
  std::vector<Tensor> gradients;
  if (depends)
    gradients = tape.gradients(y, tensor(cotangent_, y.shape(), DType::f64), xs, {.zero_if_unused = true});
  for (std::size_t i = 0; i < targets_.size(); ++i)
    targets_[i].analytic =
        depends ? gradients[i].to_vector() : std::vector<double>(targets_[i].base.size(), 0.0);
}

double Probe::weighted_sum(const Tensor& y) {
  const std::vector<double> values = y.to_vector();
  if (values.size() != cotangent_.size())
    fail("[gradcheck] f must return the same shape at each call, got {} after another shape", describe(y));
  long double sum = 0;
  double magnitude = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += static_cast<long double>(cotangent_[i]) * values[i];
    magnitude += std::abs(cotangent_[i] * values[i]);
  }
  magnitude_ = std::max(magnitude_, magnitude);
  return static_cast<double>(sum);
}

double Probe::loss() {
  random_state() = random_;
  return weighted_sum(f_(arguments_));
}

bool Probe::repeats() {
  const double again = loss();
  return again == loss_ || (std::isnan(again) && std::isnan(loss_));
}

Slopes Probe::measure(CheckTarget& target, const Line& line, double shrink) {
  struct PutBack {
    CheckTarget& target;
    const Line& line;
    ~PutBack() { move(target, line, 0); }
  } const put_back{target, line};
  double size = 1, longest = 1;
  if (line.index >= 0) {
    size = std::max(1.0, std::abs(target.base[static_cast<std::size_t>(line.index)]));
  } else {
    longest = 1e-300;
    for (double d : line.direction) longest = std::max(longest, std::abs(d));
  }
  double h = epsilon_ * shrink * size / longest;
  if (line.index >= 0) {  // the step after rounding
    const volatile double moved = target.base[static_cast<std::size_t>(line.index)] + h;
    h = moved - target.base[static_cast<std::size_t>(line.index)];
  }
  move(target, line, h);
  const double ahead = loss();
  move(target, line, -h);
  const double behind = loss();
  const double noise = 16 * std::numeric_limits<double>::epsilon() * magnitude_ / h;
  return {(ahead - behind) / (2 * h), (loss_ - behind) / h, (ahead - loss_) / h, h, noise};
}

}  // namespace tapestry::detail
