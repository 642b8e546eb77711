#include "core/tensor/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/simd/elementwise.hpp"
#include "core/simd/runtime/memory.hpp"
#include "core/tensor/layout.hpp"

namespace tapestry {

namespace {

/// Copies values and converts their type if it differs.
template <class To, class From>
void copy_values(const View<To>& out, const View<const From>& in) {
  if constexpr (std::is_same_v<To, From>)
    simd::copy(out, in);
  else
    simd::convert(out, in);
}

/// Allocates memory for the `count` elements of a tensor of this shape. Throws Error if there is not enough.
detail::Ref<detail::Buffer> buffer_for(const Dims& shape, Size count, DType dtype) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * bytes_of(dtype);
  try {
    return detail::Buffer::make(bytes);
  } catch (const std::bad_alloc&) {
    fail("out of memory: a tensor of shape {} and dtype {} needs {} bytes", to_string(shape), name_of(dtype),
         bytes);
  }
}

/// Returns true if two elements may share an address, as in an expanded view. In ascending order, each stride must step
/// over the whole range of the axes before it.
bool overlaps_itself(const Dims& shape, const Dims& stride) {
  std::array<std::pair<Size, Size>, kMaxRank> steps{};  // (stride, size), sorted
  auto end = steps.begin();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] <= 1) continue;
    // Insertion sort: std::sort has a branch for long arrays, for which GCC 14 warns of overflows.
    const std::pair<Size, Size> step{std::abs(stride[axis]), shape[axis]};
    auto place = end++;
    for (; place != steps.begin() && step < *(place - 1); --place) *place = *(place - 1);
    *place = step;
  }
  Size reach = 0;
  for (auto step = steps.begin(); step != end; ++step) {
    if (step->first <= reach) return true;
    reach += step->first * (step->second - 1);
  }
  return false;
}

}  // namespace

namespace detail {

Ref<TensorImpl> TensorImpl::make(DType dtype, const Dims& shape, const Dims& stride) {
  return Ref<TensorImpl>::adopt(new (simd::pool_allocate(sizeof(TensorImpl)))
                                    TensorImpl(dtype, shape, stride));
}

Ref<TensorImpl> TensorImpl::make(DType dtype, const Dims& shape) {
  return Ref<TensorImpl>::adopt(new (simd::pool_allocate(sizeof(TensorImpl))) TensorImpl(dtype, shape));
}

void TensorImpl::destroy(TensorImpl* impl) noexcept {
  impl->~TensorImpl();
  simd::pool_release(impl, sizeof(TensorImpl));
}

Tensor alias(const Tensor& x, const Dims& shape, const Dims& stride, Size extra_offset) {
  const TensorImpl& from = x.impl();
  if (!from.buffer) fail("{} has no values yet: initialise the model, or load its weights", describe(x));
  Ref<TensorImpl> impl = TensorImpl::make(from.dtype, shape, stride);
  impl->buffer = from.buffer;
  impl->offset = from.offset + extra_offset;
  return Tensor::from_impl(std::move(impl));
}

}  // namespace detail

constinit thread_local std::vector<Tensor::Saved>* Tensor::capture_ = nullptr;

void refuse_rank(std::size_t rank) {
  fail("a shape must have at most {} axes, got {}; merge some with reshape()", kMaxRank, rank);
}

void check_shape(const Dims& shape) {
  Size count = 1;
  bool fits = true;
  for (Size size : shape) {
    if (size < 0) fail("sizes of a shape must be at least 0, got {}", to_string(shape));
    fits &= !__builtin_mul_overflow(count, std::max<Size>(size, 1), &count);
  }
  if (!fits || count > Size{1} << 43)
    fail("a tensor of shape {} must have at most 2^43 elements; are its sizes in the right order?",
         to_string(shape));
}

Tensor Tensor::uninitialised(const Dims& shape, DType dtype) {
  if (shape.has_large_or_negative()) check_shape(shape);
  detail::Ref<detail::TensorImpl> impl = detail::TensorImpl::make(dtype, shape);
  impl->buffer = buffer_for(shape, impl->count, dtype);
  return from_impl(std::move(impl));
}

void Tensor::capture() const {
  if (impl_ && impl_->buffer)
    capture_->push_back({impl_->buffer.get(), impl_->buffer->version.load(std::memory_order_relaxed)});
}

void Tensor::refuse_access(DType wanted) const {
  const detail::TensorImpl& self = impl();
  if (!self.buffer) fail("{} has no values yet: initialise the model, or load its weights", describe(*this));
  fail("the values of {} must be read as {}, got {}; convert them with .to()", describe(*this),
       name_of(self.dtype), name_of(wanted));
}

Size Tensor::size(int axis) const { return shape()[axis_of(*this, axis, "size")]; }

double Tensor::item() const {
  if (count() != 1) fail("item() needs a tensor with one element, got shape {}", describe(*this));
  return dispatch(dtype(), [&](auto zero) { return static_cast<double>(*data<decltype(zero)>()); });
}

double Tensor::at(std::initializer_list<Size> index) const {
  if (static_cast<int>(index.size()) != rank())
    fail("at() needs one index for each axis, got {} for a tensor of shape {}", index.size(),
         describe(*this));
  Size offset = 0;
  int axis = 0;
  for (Size i : index) {
    if (i < 0 || i >= shape()[axis])
      fail("index {} on axis {} is outside shape {}", i, axis, describe(*this));
    offset += i * strides()[axis++];
  }
  return dispatch(dtype(), [&](auto zero) { return static_cast<double>(data<decltype(zero)>()[offset]); });
}

std::vector<double> Tensor::to_vector() const {
  std::vector<double> values(static_cast<std::size_t>(count()));
  View<double> out{values.data(), shape(), dense_strides(shape())};
  dispatch(dtype(), [&](auto zero) { copy_values(out, view<decltype(zero)>()); });
  return values;
}

Tensor Tensor::detach() const { return detail::alias(*this, shape(), strides()); }

bool Tensor::requires_grad() const {
  const detail::TensorImpl& self = impl();
  return self.leaf && !self.leaf->frozen;
}

bool Tensor::has_grad() const {
  const detail::TensorImpl& self = impl();
  return self.leaf && self.leaf->grad.defined();
}

const Tensor& Tensor::grad() const {
  if (!has_grad())
    fail("{} has no gradient: {}", describe(*this),
         impl().leaf ? "run backward on a loss that depends on it"
                     : "it is not a leaf; make one with variable(), or ask the tape for gradients()");
  return impl().leaf->grad;
}

void Tensor::clear_grad() const {
  if (impl().leaf) impl().leaf->grad = Tensor();
}

const std::string& Tensor::name() const {
  static const std::string none;
  return impl().leaf ? impl().leaf->name : none;
}

Tensor variable(const Tensor& x, std::string name) {
  Tensor leaf = x.detach();
  leaf.impl().leaf = std::make_unique<detail::Leaf>();
  leaf.impl().leaf->name = std::move(name);
  return leaf;
}

void set_frozen(const Tensor& leaf, bool frozen) {
  if (!leaf.impl().leaf)
    fail("only a leaf can be frozen, and {} is not one; make it with variable()", describe(leaf));
  leaf.impl().leaf->frozen = frozen;
}

void assign(Tensor& target, const Tensor& source, CallSite at) {
  if (target.shape() != source.shape())
    fail("[assign] target {} and source {} must have equal shapes ({}:{})", describe(target),
         describe(source), at.file, at.line);
  if (!source.impl().buffer)
    fail("[assign] {} has no values yet: initialise the model, or load its weights ({}:{})", describe(source),
         at.file, at.line);
  if (!target.is_contiguous() && target.count() > 0 && overlaps_itself(target.shape(), target.strides()))
    fail(
        "[assign] elements of the target {} share memory, as after expand(); "
        "assign to the tensor that was expanded ({}:{})",
        describe(target), at.file, at.line);
  if (!target.impl().buffer) {
    detail::TensorImpl& impl = target.impl();
    impl.buffer = buffer_for(impl.shape, impl.count, impl.dtype);
  }
  // A source in the same buffer is copied first, because writing the target could change it.
  const bool overlap = source.impl().buffer.get() == target.impl().buffer.get();
  const Tensor values = overlap ? dense_copy(source) : source;
  dispatch(values.dtype(), [&](auto from) {
    dispatch(target.dtype(), [&](auto into) {
      copy_values(target.mutable_view<decltype(into)>(), values.view<decltype(from)>());
    });
  });
  mark_written(target);
}

void mark_written(const Tensor& target) {
  target.impl().buffer->version.fetch_add(1, std::memory_order_relaxed);
}

std::string to_string(const Dims& shape) {
  return fmt::format("({})", fmt::join(shape.begin(), shape.end(), ","));
}

std::string describe(const Tensor& x) {
  if (!x.defined()) return "(no tensor)";
  if (!x.name().empty()) return fmt::format("{} \"{}\"", to_string(x.shape()), x.name());
  return to_string(x.shape());
}

int axis_of(const Tensor& x, int axis, const char* op) {
  const int rank = x.rank();
  if (axis < -rank || axis >= rank)
    fail("[{}] axis {} is outside a tensor of shape {}: use {} to {}", op, axis, describe(x), -rank,
         rank - 1);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace tapestry
