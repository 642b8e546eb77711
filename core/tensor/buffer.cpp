#include "core/tensor/buffer.hpp"

#include <limits>
#include <new>

#include "core/simd/runtime/memory.hpp"

namespace tapestry::detail {

Ref<Buffer> Buffer::make(std::uint64_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();  // 2 GiB on WebAssembly
  auto* buffer = new (simd::pool_allocate(sizeof(Buffer) + static_cast<std::size_t>(bytes))) Buffer;
  buffer->bytes = static_cast<std::size_t>(bytes);
  return Ref<Buffer>::adopt(buffer);
}

void Buffer::destroy(Buffer* buffer) noexcept {
  for (Kept* one = buffer->kept.load(std::memory_order_acquire); one;) {
    const std::unique_ptr<Kept> gone(one);
    one = gone->next;
  }
  const std::size_t bytes = sizeof(Buffer) + buffer->bytes;
  buffer->~Buffer();
  simd::pool_release(buffer, bytes);
}

void Buffer::keep(std::unique_ptr<Kept> one) {
  one->next = kept.load(std::memory_order_relaxed);
  while (!kept.compare_exchange_weak(one->next, one.get(), std::memory_order_release,
                                     std::memory_order_relaxed)) {
  }
  one.release();
}

}  // namespace tapestry::detail
