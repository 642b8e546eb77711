// The part of a step that is the same for all optimisers.
#include "optim/optimiser.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/io/restore.hpp"
#include "core/io/text.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/pool_vector.hpp"

namespace tapestry {

namespace {

std::string label(const Tensor& weight, std::size_t index) {
  return weight.name().empty() ? fmt::format("parameter {}", index)
                               : fmt::format("\"{}\"", printable(weight.name(), 80));
}

}  // namespace

void Optimiser::add(std::vector<Tensor> weights, std::size_t group) {
  std::vector<Slot> added;
  const auto find = [](const std::vector<Slot>& slots, const Tensor& weight) {
    return std::any_of(slots.begin(), slots.end(),
                       [&](const Slot& s) { return s.weight.ref().get() == weight.ref().get(); });
  };
  for (const Tensor& weight : weights) {
    if (!weight.impl().leaf)
      fail("[optimiser] weights must be leaves, got {}; make it with variable() or as a module's Parameter",
           describe(weight));
    if (!weight.is_contiguous())
      fail("[optimiser] weights must be dense, got {}, a strided view; use contiguous()", describe(weight));
    if (find(slots_, weight))
      fail("[optimiser] {} must be in one parameter group, got two; remove it from one", describe(weight));
    if (!find(added, weight)) added.push_back({weight, group, {}, {}});
  }
  slots_.insert(slots_.end(), added.begin(), added.end());
}

void Optimiser::prepare(Slot& slot) {
  const std::size_t names = buffer_names(slot.group).size();
  for (std::size_t i = 0; i < names; ++i) {
    Tensor& buffer = slot.buffers[i];
    if (!buffer.defined()) buffer = zeros(slot.weight.shape(), slot.weight.dtype());
    if (buffer.dtype() != slot.weight.dtype())
      fail("[optimiser] {} must keep its type after the first step, got {}; make a new optimiser",
           describe(slot.weight), name_of(slot.weight.dtype()));
  }
  if (!slot.steps.defined()) slot.steps = zeros({}, DType::f64);
}

void Optimiser::step(double rate_factor, double gradient_scale) {
  check_options();
  PoolVector<Ready> ready;
  ready.reserve(slots_.size());
  std::vector<std::string> absent;
  std::size_t absent_count = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.weight.requires_grad()) continue;  // frozen
    if (!slot.weight.has_grad()) {
      if (++absent_count <= 8) absent.push_back(label(slot.weight, i));
      continue;
    }
    ready.push_back({&slot, contiguous(slot.weight.grad().detach())});
  }
  if (absent_count > 0)
    fail(
        "[step] every weight must have a gradient, got none for {}{}; run backward on a loss that depends on {}, or "
        "freeze {}",
        fmt::join(absent, ", "),
        absent_count > absent.size() ? fmt::format(" and {} more", absent_count - absent.size()) : "",
        absent_count == 1 ? "it" : "them", absent_count == 1 ? "it" : "them");
  for (const Ready& one : ready) prepare(*one.slot);
  // Mark the weights first, so that values saved for backward count as outdated even if the update throws half-way.
  for (const Ready& one : ready) mark_written(one.slot->weight);
  update(ready, rate_factor, gradient_scale);
  clear_gradients();  // of frozen weights too: later ones would be added to them
}

void Optimiser::clear_gradients() const {
  for (const Slot& slot : slots_) slot.weight.clear_grad();
}

State Optimiser::state() {
  State state;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    prepare(slot);
    const std::string name = slot.weight.name().empty() ? fmt::format("parameter.{}", i) : slot.weight.name();
    const auto put = [&](const char* what, const Tensor& x) {
      if (!state.emplace(name + "/" + what, x).second)
        fail("[optimiser] parameter names must be unique, got two called \"{}\"; rename one",
             printable(name, 80));
    };
    const auto names = buffer_names(slot.group);
    for (std::size_t k = 0; k < names.size(); ++k) put(names[k], slot.buffers[k]);
    if (counts_steps()) put("steps", slot.steps);
  }
  return state;
}

void Optimiser::load_state(const State& given) {
  restore(state(), given, "the optimiser's state does not fit");
}

}  // namespace tapestry
