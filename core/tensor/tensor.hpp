// Tensor: a cheap handle to a strided view of a buffer. Ops on tensors are in core/ops/; the tape that records them is
// in core/tape/tape.hpp.
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

/// The shared data behind Tensor handles. A tensor stores its place on a tape as a number instead of a pointer, so
/// tensors form no cycles or chains, and freeing a tensor never recurses.
struct TensorImpl {
  RefCount refs;
  DType dtype;
  bool computed_off_tape = false;  // depends on a variable, but was computed without a tape
  bool dense = true;               // the elements are contiguous in row-major order
  std::int32_t node = -1;          // index of its node on the tape `tape`, or -1
  std::uint64_t tape = 0;          // serial number of that tape
  const char* origin = nullptr;    // name of the op that computed it, for messages
  Ref<Buffer> buffer;              // null for a parameter that has no values yet
  Size offset = 0;                 // of the first element, in elements
  Size count;                      // number of elements
  std::unique_ptr<Leaf> leaf;      // only for leaves
  Dims shape;
  Dims stride;

  TensorImpl(DType dtype_in, const Dims& shape_in, const Dims& stride_in)
      : dtype(dtype_in),
        dense(is_dense(shape_in, stride_in)),
        count(shape_in.count()),
        shape(shape_in),
        stride(stride_in) {}
  /// Makes a dense tensor.
  TensorImpl(DType dtype_in, const Dims& shape_in)
      : dtype(dtype_in), shape(shape_in), stride(dense_strides(shape_in)) {
    count = shape.empty() ? 1 : shape[0] * stride[0];
  }

  /// Allocates a TensorImpl in memory from the pool.
  static Ref<TensorImpl> make(DType dtype, const Dims& shape, const Dims& stride);
  static Ref<TensorImpl> make(DType dtype, const Dims& shape);
  static void destroy(TensorImpl* impl) noexcept;
};

}  // namespace detail

/// A tensor of rank 0 to 6 with elements of type f32 or f64. A copy of a Tensor shares its values. Values of an
/// existing tensor change only through assign() and through code that calls mark_written(), such as optimisers.
class Tensor {
 public:
  /// An empty handle, also called an undefined tensor. Using it in an op is an error.
  Tensor() = default;
  Tensor(const Tensor& other) noexcept : impl_(other.impl_) {
    if (capture_) [[unlikely]]
      capture();
  }
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  ~Tensor() = default;

  /// Returns a new dense tensor with uninitialised values, for kernels. Throws Error if check_shape() does, or if the
  /// system is out of memory (with the shape and the bytes in the message).
  static Tensor uninitialised(const Dims& shape, DType dtype);

  /// Returns false for an empty handle, whose dtype(), shape(), strides() and rank() throw Error. Strides are in
  /// elements.
  bool defined() const { return static_cast<bool>(impl_); }
  DType dtype() const { return impl().dtype; }
  const Dims& shape() const { return impl().shape; }
  const Dims& strides() const { return impl().stride; }
  int rank() const { return shape().rank(); }
  /// Size of an axis. A negative axis counts from the end: −1 is the last.
  Size size(int axis) const;
  /// Number of elements.
  Size count() const { return impl().count; }
  /// Returns true if the elements are contiguous in row-major order, or if there are none.
  bool is_contiguous() const { return impl().dense; }

  /// Returns a pointer to the first element. Throws if T is not the tensor's type or if there are no values yet.
  template <class T>
  [[gnu::always_inline]] const T* data() const {
    return reinterpret_cast<const T*>(bytes(kDType<T>));
  }
  /// Returns a strided view of the elements, for kernels. Throws in the same cases as data(). For a new tensor, use
  /// mutable_view().
  template <class T>
  View<const T> view() const {
    return {data<T>(), shape(), strides()};
  }
  /// Same as data(), but writable: for kernels that fill a new tensor, and for assign().
  template <class T>
  T* mutable_data() {
    return const_cast<T*>(data<T>());
  }
  /// Same as view(), but writable.
  template <class T>
  View<T> mutable_view() {
    return {mutable_data<T>(), shape(), strides()};
  }

  /// Returns the value of a tensor with one element.
  double item() const;
  /// Returns the element at an index, for example x.at({0, 2}).
  double at(std::initializer_list<Size> index) const;
  /// Returns all values, in row-major order.
  std::vector<double> to_vector() const;

  /// Returns the values converted to another type. Differentiable: backward converts the gradient back.
  Tensor to(DType dtype, CallSite at = {}) const;
  /// Returns a tensor that shares the values but is on no tape, so no gradient flows through it.
  Tensor detach() const;

  /// Returns true for a leaf that is not frozen; false for computed tensors.
  bool requires_grad() const;
  /// Returns true if the leaf has a gradient.
  bool has_grad() const;
  /// Returns the gradient that backward accumulated. Throws if there is none.
  const Tensor& grad() const;
  /// Deletes the gradient, if there is one.
  void clear_grad() const;
  /// Name given to variable(), or empty.
  const std::string& name() const;

  /// For internal use. impl() returns the data behind the handle and throws Error for an empty one, ref() the counted
  /// pointer to it; from_impl() makes a handle.
  detail::TensorImpl& impl() const {
    if (!impl_) [[unlikely]]
      fail("a Tensor must have a value before it is used, got an empty Tensor handle; assign a tensor to it");
    return *impl_;
  }
  const detail::Ref<detail::TensorImpl>& ref() const { return impl_; }
  static Tensor from_impl(detail::Ref<detail::TensorImpl> impl) {
    Tensor tensor;
    tensor.impl_ = std::move(impl);
    return tensor;
  }

  /// A tensor that was captured while a derivative rule was stored.
  struct Saved {
    detail::Buffer* buffer;  // buffer of the tensor
    std::uint32_t version;   // version of the buffer at that time
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

/// Data that only leaves have.
struct Leaf {
  Tensor grad;  // undefined until backward
  std::string name;
  bool frozen = false;
  std::atomic<std::uint64_t> tape{0};   // serial of the newest tape that has used this leaf
  std::atomic<std::uint32_t> index{0};  // index on that tape: a hint, see Graph::find_leaf()
};

/// Returns a tensor with the same buffer and another shape and strides, on no tape.
Tensor alias(const Tensor& x, const Dims& shape, const Dims& stride, Size extra_offset = 0);

}  // namespace detail

/// Returns a leaf that shares the values of x and requires a gradient. Backward accumulates the gradient in .grad().
Tensor variable(const Tensor& x, std::string name = {});

/// Freezes or unfreezes a leaf. A frozen leaf is a constant: it gets no gradient. Throws if `leaf` is not a leaf.
void set_frozen(const Tensor& leaf, bool frozen);

/// Copies the values of `source` (same shape, any type) into `target`'s buffer, for initialisers and caches. Throws
/// Error if the shapes differ or if `target` is an expanded view. Backward throws Error if a tensor was written after
/// a rule had saved it.
void assign(Tensor& target, const Tensor& source, CallSite at = {});
/// Records that `target`'s buffer was written by other code, such as an optimiser's kernel.
void mark_written(const Tensor& target);

/// Throws Error unless all sizes are at least 0 and the number of elements is at most 2^43.
void check_shape(const Dims& shape);

/// Returns a shape as text: "(2,3)".
std::string to_string(const Dims& shape);
/// Returns the shape and, if x has a name, the name in quotes, for messages: `(2,3) "w"`.
std::string describe(const Tensor& x);
/// Returns the values in nested brackets, with long axes shortened, then the shape and type.
std::string to_string(const Tensor& x);

/// Converts a negative axis to one from 0. Throws Error if the axis is out of range.
int axis_of(const Tensor& x, int axis, const char* op = __builtin_FUNCTION());

}  // namespace tapestry
