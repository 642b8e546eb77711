// Reference-counted memory: the buffer that tensors view, and the pointer to it.
#pragma once

#if __has_include(<sys/single_threaded.h>)  // glibc 2.32 and newer
#include <sys/single_threaded.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace tapestry::detail {

/// Number of references to an object. Atomic increments take longer than the rest of a small op. While the process has
/// one thread the count uses plain loads and stores, as libstdc++ does for shared_ptr.
class RefCount {
 public:
  void up() {
    if (one_thread())
      count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    else
      count_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Drops a reference and returns true if it was the last. The last one skips the decrement, since no other
  /// reference could raise the count.
  bool down() {
    if (is_one()) return true;
    if (!one_thread()) return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return false;
  }
  bool is_one() const { return count_.load(std::memory_order_acquire) == 1; }

 private:
  static bool one_thread() {
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded;
#else
    return false;
#endif
  }

  std::atomic<std::int32_t> count_{1};
};

/// Reference-counting pointer to a T, which must have a RefCount `refs` and a static `T::destroy(T*)`.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// Takes ownership of the first reference of a new object.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  Ref(const Ref& other) noexcept : object_(other.object_) {
    if (object_) object_->refs.up();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && object_->refs.down()) T::destroy(object_);
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool unique() const { return object_ && object_->refs.is_one(); }

 private:
  T* object_ = nullptr;
};

/// Base of data that was computed from an immutable buffer, such as the tiles of a mask. The buffer owns and frees it.
struct Kept {
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  virtual ~Kept() = default;
  Kept* next = nullptr;
};

/// Memory from the pool: this header, then `bytes` of data, 64-byte aligned. All views share `version`, which counts
/// the writes by assign() and mark_written().
struct alignas(64) Buffer {
  RefCount refs;
  std::atomic<std::uint32_t> version{0};
  std::size_t bytes = 0;
  std::atomic<Kept*> kept{nullptr};

  std::byte* data() { return reinterpret_cast<std::byte*>(this) + sizeof(Buffer); }

  /// Allocates uninitialised memory. Throws std::bad_alloc, also if `bytes` exceeds half of the address space.
  static Ref<Buffer> make(std::uint64_t bytes);
  static void destroy(Buffer* buffer) noexcept;

  /// Prepends `one` to the `kept` list. Thread-safe; any thread may traverse the list meanwhile.
  void keep(std::unique_ptr<Kept> one);
};

}  // namespace tapestry::detail
