#include "nn/check/checked_block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/views.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/error.hpp"

namespace tapestry::detail {

namespace {

constexpr Size kGradientLength = 6;
constexpr double kPrecisionOfF32 = 1e-4;  // relative; the rounding errors of one block are about 1e-6
constexpr double kSmallest = 1e-3;        // smaller results are compared as if they were this large

double finite_or_infinite(double x) {
  return std::isfinite(x) ? std::abs(x) : std::numeric_limits<double>::infinity();
}

std::string finding_of(const GradcheckResult& result) {
  if (result.ok()) return {};
  std::string report = result.report();
  while (report.ends_with('\n')) report.pop_back();
  return report;
}

}  // namespace

Gap largest_gap(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape())
    fail("[check_attention] two results must have equal shapes, got {} and {}", describe(a), describe(b));
  const std::vector<double> x = a.detach().to_vector(), y = b.detach().to_vector();
  Gap gap;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (const double by = finite_or_infinite(x[i] - y[i]); by > gap.by)
      gap = {static_cast<Size>(i) / a.size(2) % a.size(1), by};
  return gap;
}

double largest(const Tensor& x) {
  double most = 0;
  for (const double value : x.detach().to_vector()) most = std::max(most, finite_or_infinite(value));
  return most;
}

Tensor tokens(const Tensor& x, Size begin, Size end) { return slice(x, 1, begin, end); }

Tensor with_tokens(const Tensor& x, const Tensor& other, Size begin, Size end) {
  return concat({tokens(x, 0, begin), tokens(other, begin, end), tokens(x, end, x.size(1))}, 1);
}

std::string sum_of(const std::vector<Size>& parts) { return fmt::format("{}", fmt::join(parts, " + ")); }

CheckedBlock::CheckedBlock(const BlockOptions& options, const BlockKind& kind,
                           const AttentionCheckOptions& check)
    : options_([&] {
        BlockOptions attention = options;
        attention.feed_forward = false;
        return attention;
      }()),
      kind_(kind),
      check_(check),
      block_(make_block()) {
  block_->initialise(check.seed, DType::f64);
  State state = block_->state();
  std::uint64_t seed = check.seed;
  for (auto& [name, values] : state)  // initial values of 0 and 1 would hide mistakes
    values = values + 0.2 * random_normal(values.shape(), ++seed, DType::f64);
  block_->load_state(state);
}

std::unique_ptr<TransformerBlock> CheckedBlock::make_block() const {
  auto block = std::make_unique<TransformerBlock>(options_, kind_);
  block->eval();
  return block;
}

Tensor CheckedBlock::input(Size length, std::uint64_t which, Size rows) const {
  return random_normal({rows, length, options_.width}, check_.seed + 1000 + which, DType::f64);
}

Tensor CheckedBlock::gradient_input() const {
  return input(std::min(kGradientLength, check_.lengths.front()));
}

GradcheckOptions CheckedBlock::gradcheck_options(const char* name) const {
  GradcheckOptions options;
  options.seed = check_.seed;
  options.name = name;
  return options;
}

Mask CheckedBlock::hiding(Size key, Size queries, Size keys) const {
  return given(queries, keys) & Mask::from(queries, keys, [=, first = keys - queries](Size i, Size j) {
           return j != key || i + first == key;
         });
}

Tensor CheckedBlock::whole(const TransformerBlock& block, const Tensor& x) const {
  return block(x, given(x.size(1), x.size(1)));
}

Tensor CheckedBlock::next(const Tensor& x, KeyValueCache& cache) const {
  return (*block_)(x, cache, nullptr, given(x.size(1), cache.length() + x.size(1)));
}

Tensor CheckedBlock::in_parts(const Tensor& x, const std::vector<Size>& parts,
                              const std::function<Mask(Size, Size)>& make) const {
  KeyValueCache cache(2);
  std::vector<Tensor> results;
  for (const Size part : parts) {
    const Size first = cache.length();
    results.push_back((*block_)(tokens(x, first, first + part), cache, nullptr, make(part, first + part)));
  }
  return concat(results, 1);
}

bool CheckedBlock::differs(const Gap& gap, const Tensor& result) const {
  return !(gap.by <= check_.tolerance * std::max(largest(result), kSmallest));
}

Gap CheckedBlock::first_gap(const Tensor& result, const Tensor& expected) const {
  Gap gap = largest_gap(result, expected);
  for (Size t = 0; t < gap.token; ++t) {
    const Gap here = largest_gap(tokens(result, t, t + 1), tokens(expected, t, t + 1));
    if (differs(here, expected)) return {t, here.by};
  }
  return gap;
}

std::vector<Tensor> CheckedBlock::influential(const Tensor& x) {
  const Tensor before = whole(x);
  const State state = block_->state();
  std::vector<Tensor> found;
  std::vector<std::string> others;
  for (const Tensor& parameter : block_->parameters()) {
    const std::string name(parameter.name());
    State changed = state;
    changed[name] = state.at(name) + 0.5 * random_normal(parameter.shape(), check_.seed + 77, DType::f64);
    const std::unique_ptr<TransformerBlock> other = make_block();
    other->load_state(changed);
    if (differs(largest_gap(whole(*other, x), before), before))
      found.push_back(parameter);
    else
      others.push_back(name);
  }
  if (!others.empty()) remark_ = fmt::format("without influence on the result: {}", fmt::join(others, ", "));
  return found;
}

std::string CheckedBlock::calls() const {
  const Size length = check_.lengths.front();
  const Mask mask = given(length, length), again = given(length, length);
  if (mask.defined() != again.defined() ||
      (mask.defined() && (mask.shape() != again.shape() || mask.to_vector() != again.to_vector())))
    return fmt::format(
        "AttentionCheckOptions::mask must return one mask for {0} queries and {0} keys, but returned two different "
        "masks. Draw random pairs once, or from a fixed seed",
        length);
  const Tensor x = input(length), y = whole(x);
  whole(input(length, 1));
  const Gap gap = largest_gap(whole(x), y);
  if (!differs(gap, y)) return {};
  return fmt::format(
      "a second call with the same input gives another result at token {}, by {:.1e}. In eval mode, do not draw random "
      "numbers, and keep nothing from one call to the next. The other parts are skipped, since each of them compares "
      "two calls; gradcheck() can check the gradients of an attention that is meant to draw",
      gap.token, gap.by);
}

std::string CheckedBlock::construction() const {
  const Tensor x = input(check_.lengths.front()), y = whole(x);
  const Gap gap = largest_gap(reconstructed(x), y);
  if (!differs(gap, y)) return {};
  if (std::string finding = other_leaves(x); !finding.empty()) return finding;
  return fmt::format(
      "a second block with the same parameters gives another result at token {}, by {:.1e}, because a member of the "
      "layer differs at each construction. A checkpoint does not contain it. Make each weight a Parameter, and draw "
      "random constants from a fixed seed, as in random_normal(shape, seed)",
      gap.token, gap.by);
}

std::string CheckedBlock::gradients() {
  const Tensor x = gradient_input();
  leaves_ = influential(x);
  const GradcheckResult result = gradcheck([this](const Tensor& in) { return whole(in); }, x,
                                           GradcheckInputs(leaves_), gradcheck_options("the block"));
  return finding_of(result);
}

std::string CheckedBlock::second_derivatives() const {
  GradcheckOptions options = gradcheck_options("the block's gradient");
  options.elements = 0;
  options.projections = 1;
  const GradcheckResult result = gradgradcheck([&](const Tensor& in) { return whole(in); }, gradient_input(),
                                               GradcheckInputs(leaves_), options);
  return finding_of(result);
}

std::string CheckedBlock::batch() const {
  const Size length = check_.lengths.front();
  const Tensor x = input(length), y = whole(x);
  for (Size row = 0; row < 2; ++row) {
    const Gap gap = largest_gap(whole(slice(x, 0, row, row + 1)), slice(y, 0, row, row + 1));
    if (differs(gap, y))
      return fmt::format(
          "row {} of the batch alone gives another result at token {}, by {:.1e}. Keep the batch axis in each sum, mean "
          "and reshape",
          row, gap.token, gap.by);
  }
  return {};
}

std::string CheckedBlock::f32() const {
  const std::unique_ptr<TransformerBlock> block = make_block();
  block->initialise(check_.seed);
  block->load_state(block_->state());
  const Tensor x = input(check_.lengths.front()), y = whole(x);
  const Gap gap = largest_gap(whole(*block, x.to(DType::f32)).to(DType::f64), y);
  if (gap.by <= kPrecisionOfF32 * std::max(largest(y), kSmallest)) return {};
  return fmt::format(
      "in f32, the result at token {} differs by {:.1e} from f64. Is a large number subtracted from another?",
      gap.token, gap.by);
}

Tensor CheckedBlock::reconstructed(const Tensor& x) const {
  const std::unique_ptr<TransformerBlock> block = make_block();
  block->load_state(block_->state());
  return whole(*block, x);
}

std::string CheckedBlock::other_leaves(const Tensor& x) const {
  Tape tape;
  whole(x);
  const std::vector<Tensor> parameters = block_->parameters();
  for (const Tensor& leaf : tape.leaves()) {
    const auto is_leaf = [&](const Tensor& parameter) { return &parameter.impl() == &leaf.impl(); };
    if (std::none_of(parameters.begin(), parameters.end(), is_leaf))
      return fmt::format(
          "the layer uses a variable of shape {} that is not one of its parameters, so no optimiser trains it and no "
          "checkpoint contains it. Make it a Parameter",
          to_string(leaf.shape()));
  }
  return {};
}

std::string CheckedBlock::copies() const {
  const Tensor x = input(check_.lengths.front()), y = whole(x);
  if (std::string finding = other_leaves(x); !finding.empty()) return finding;
  if (largest_gap(whole(*clone(*block_), x), y).by != 0)
    return "a clone() has another result. Make each weight a Parameter, and each part a member with {*this, \"name\"}";
  if (largest_gap(reconstructed(x), y).by != 0)
    return "a new block with the same state has another result. Make each weight a Parameter, and each part a member "
           "with {*this, \"name\"}, so that a checkpoint contains it";
  return {};
}

}  // namespace tapestry::detail
