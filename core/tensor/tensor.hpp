// Tensor: a cheap handle to a buffer and a strided view of it. Ops on tensors are in core/ops/, the tape that
// records them in core/tape/tape.hpp.
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "core/simd/view.hpp"
#include "core/tensor/buffer.hpp"
#include "core/tensor/call_site.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/error.hpp"

namespace tapestry {

class Tensor;

namespace detail {

struct Leaf;

/// What a handle points to. A tensor knows its place on a tape as a number, never as a pointer, so tensors
/// form no cycles and no chains: freeing one never recurses.
struct TensorImpl {
  RefCount refs;
  DType dtype;
  bool computed_off_tape = false;  // computed from what needs a gradient while no tape was recording
  bool dense = true;               // the elements lie one after the other
  std::int32_t node = -1;          // index on the tape `tape`, or -1
  std::uint64_t tape = 0;          // serial number of that tape
  const char* origin = nullptr;    // the op that made it, for messages
  Ref<Buffer> buffer;              // none: a parameter that has no values yet
  Size offset = 0;                 // of the first element, in elements
  Size count;                      // of the elements
  std::unique_ptr<Leaf> leaf;      // only for tensors that ask for a gradient
  Dims shape;
  Dims stride;

  TensorImpl(DType dtype_in, const Dims& shape_in, const Dims& stride_in)
      : dtype(dtype_in),
        dense(is_dense(shape_in, stride_in)),
        count(shape_in.count()),
        shape(shape_in),
        stride(stride_in) {}
  /// Dense.
  TensorImpl(DType dtype_in, const Dims& shape_in)
      : dtype(dtype_in), shape(shape_in), stride(dense_strides(shape_in)) {
    count = shape.empty() ? 1 : shape[0] * stride[0];
  }

  /// One of these, in memory from the pool.
  static Ref<TensorImpl> make(DType dtype, const Dims& shape, const Dims& stride);
  static Ref<TensorImpl> make(DType dtype, const Dims& shape);
  static void destroy(TensorImpl* impl) noexcept;
};

}  // namespace detail

/// A tensor of rank 0 to 6 of f32 or f64. Copying copies the handle, not the values; values never change
/// under a reader except through assign() and what calls mark_written().
class Tensor {
 public:
  /// No tensor at all; using it in an op is an error.
  Tensor() = default;
  Tensor(const Tensor& other) noexcept : impl_(other.impl_) {
    if (capture_) [[unlikely]]
      capture();
  }
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  ~Tensor() = default;

  /// A new dense tensor whose values are not set yet: for kernels. Throws as check_shape() does, and Error
  /// with shape and bytes where the system gives no memory.
  static Tensor uninitialised(const Dims& shape, DType dtype);

  /// Whether it is a tensor at all; dtype(), shape(), strides() (in elements) and rank() of an empty handle
  /// throw Error.
  bool defined() const { return static_cast<bool>(impl_); }
  DType dtype() const { return impl().dtype; }
  const Dims& shape() const { return impl().shape; }
  const Dims& strides() const { return impl().stride; }
  int rank() const { return shape().rank(); }
  /// Size of an axis; a negative axis counts from the last.
  Size size(int axis) const;
  /// The number of elements.
  Size count() const { return impl().count; }
  /// Whether the elements lie one after the other in row-major order; true without any.
  bool is_contiguous() const { return impl().dense; }

  /// First element; throws if T is not the tensor's type or if there are no values yet.
  template <class T>
  [[gnu::always_inline]] const T* data() const {
    return reinterpret_cast<const T*>(bytes(kDType<T>));
  }
  /// The elements with their places, for kernels; throws as data() does. mutable_view() is for a tensor that
  /// is being filled.
  template <class T>
  View<const T> view() const {
    return {data<T>(), shape(), strides()};
  }
  /// For kernels that fill a tensor they have just made, and for assign().
  template <class T>
  T* mutable_data() {
    return const_cast<T*>(data<T>());
  }
  /// As view(), and may be written.
  template <class T>
  View<T> mutable_view() {
    return {mutable_data<T>(), shape(), strides()};
  }

  /// The value of a tensor with one element.
  double item() const;
  /// The element at an index, e.g. x.at({0, 2}).
  double at(std::initializer_list<Size> index) const;
  /// All values, in row-major order.
  std::vector<double> to_vector() const;

  /// The same values in another type (differentiable: the gradient is converted back).
  Tensor to(DType dtype, CallSite at = {}) const;
  /// The same values, cut off from any tape.
  Tensor detach() const;

  /// True for leaves that ask for a gradient (and are not frozen).
  bool requires_grad() const;
  /// Whether backward has left a gradient here.
  bool has_grad() const;
  /// The gradient that backward left here; throws when there is none.
  const Tensor& grad() const;
  /// Drops the gradient, if there is one.
  void clear_grad() const;
  /// The name given to variable(), or empty.
  const std::string& name() const;

  /// For the library itself: what the handle points to, impl(), which throws Error where there is nothing,
  /// and as a counted ref(); from_impl() makes a handle of it.
  detail::TensorImpl& impl() const {
    if (!impl_) [[unlikely]]
      fail("an empty Tensor handle was used: give it a value first");
    return *impl_;
  }
  const detail::Ref<detail::TensorImpl>& ref() const { return impl_; }
  static Tensor from_impl(detail::Ref<detail::TensorImpl> impl) {
    Tensor tensor;
    tensor.impl_ = std::move(impl);
    return tensor;
  }

  /// What the copies made while a derivative rule is being stored have captured.
  struct Saved {
    detail::Buffer* buffer;  // of a tensor that was captured
    std::uint32_t version;   // of the buffer at that time
  };
  class SavedTensorCapture;  // core/tape/saved_tensor_capture.hpp

 private:
  [[gnu::always_inline]] const std::byte* bytes(DType wanted) const {
    const detail::TensorImpl& self = impl();
    if (self.dtype != wanted || !self.buffer) [[unlikely]]
      refuse_access(wanted);
    return self.buffer->data() + static_cast<std::size_t>(self.offset) * bytes_of(wanted);
  }
  [[noreturn]] void refuse_access(DType wanted) const;
  void capture() const;

  detail::Ref<detail::TensorImpl> impl_;
  static constinit thread_local std::vector<Saved>* capture_;
};

namespace detail {

/// What only a leaf has.
struct Leaf {
  Tensor grad;  // absent until backward
  std::string name;
  bool frozen = false;
  std::atomic<std::uint64_t> tape{0};   // the newest tape that has used this leaf, and its
  std::atomic<std::uint32_t> index{0};  // index there: a hint, see Graph::find_leaf()
};

/// A tensor over the same buffer with another shape and strides, on no tape.
Tensor alias(const Tensor& x, const Dims& shape, const Dims& stride, Size extra_offset = 0);

}  // namespace detail

/// A leaf with the values of x that asks for a gradient: backward adds it up in .grad().
Tensor variable(const Tensor& x, std::string name = {});

/// A frozen leaf is treated as a constant: nothing flows into it.
void set_frozen(const Tensor& leaf, bool frozen);

/// Writes the values of `source` (same shape; any type) into `target`'s buffer, for initialisers and caches;
/// optimisers have kernels of their own. Backward refuses tensors that were written after it saved them.
/// Throws Error for other shapes, and for a target that is an expanded view.
void assign(Tensor& target, const Tensor& source, CallSite at = {});
/// Notes that target's buffer was written by other means (an optimiser's kernel).
void mark_written(const Tensor& target);

/// Throws unless all sizes are 0 or more and the elements are no more than a memory could hold (2^43).
void check_shape(const Dims& shape);

/// "(2,3)"
std::string to_string(const Dims& shape);
/// "(2,3)", with the name in quotes where there is one: for messages.
std::string describe(const Tensor& x);
/// The values, as nested brackets, long axes shortened; then shape and type.
std::string to_string(const Tensor& x);

/// Turns a negative axis into a positive one; throws when it is out of range.
int axis_of(const Tensor& x, int axis, const char* op = __builtin_FUNCTION());

}  // namespace tapestry
