// Reference-counted memory: the buffer that tensors view, and the pointer that counts.
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

/// How many hold an object. Counting with the bus locked takes longer than all else that a small op does, so
/// it is done plainly while the process has but one thread, as libstdc++ does it for shared_ptr.
class RefCount {
 public:
  void up() {
    if (one_thread())
      count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    else
      count_.fetch_add(1, std::memory_order_relaxed);
  }
  /// True when that was the last one. One that is alone need not count down: nobody is there to count up.
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

/// A counting pointer to a T that has a RefCount `refs` and `T::destroy(T*)`.
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

/// What was worked out from memory that never changes, such as a mask's tiles: kept beside it, freed with it.
struct Kept {
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  virtual ~Kept() = default;
  Kept* next = nullptr;
};

/// Memory from the pool: this header, then `bytes` of data, 64-byte aligned. Views of it share `version`,
/// which counts the writes made through assign().
struct alignas(64) Buffer {
  RefCount refs;
  std::atomic<std::uint32_t> version{0};
  std::size_t bytes = 0;
  std::atomic<Kept*> kept{nullptr};

  std::byte* data() { return reinterpret_cast<std::byte*>(this) + sizeof(Buffer); }

  /// Uninitialised memory. Throws std::bad_alloc, also where addresses have fewer bits than `bytes`.
  static Ref<Buffer> make(std::uint64_t bytes);
  static void destroy(Buffer* buffer) noexcept;

  /// Any thread may keep something, and look through what was kept so far.
  void keep(std::unique_ptr<Kept> one);
};

}  // namespace tapestry::detail
