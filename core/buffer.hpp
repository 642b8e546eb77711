// Reference-counted memory: the buffer that tensors view, and the pointer that counts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tapestry::detail {

/// A counting pointer to a T that has `std::atomic<std::int32_t> refs` (1 when new) and `T::destroy(T*)`.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// Takes over the one reference that a new object has.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  Ref(const Ref& other) noexcept : object_(other.object_) {
    if (object_) object_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && object_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) T::destroy(object_);
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool unique() const { return object_ && object_->refs.load(std::memory_order_acquire) == 1; }

 private:
  T* object_ = nullptr;
};

/// Memory from the pool: this header, then `bytes` of data, 64-byte aligned. Views of it share `version`,
/// which counts the writes made through assign().
struct alignas(64) Buffer {
  std::atomic<std::int32_t> refs{1};
  std::atomic<std::uint32_t> version{0};
  std::size_t bytes = 0;

  std::byte* data() { return reinterpret_cast<std::byte*>(this) + sizeof(Buffer); }

  /// Uninitialised memory.
  static Ref<Buffer> make(std::size_t bytes);
  static void destroy(Buffer* buffer) noexcept;
};

}  // namespace tapestry::detail
