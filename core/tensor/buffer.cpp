#include "core/tensor/buffer.hpp"

#include <new>

#include "core/simd/runtime/memory.hpp"

namespace tapestry::detail {

Ref<Buffer> Buffer::make(std::size_t bytes) {
  auto* buffer = new (simd::pool_allocate(sizeof(Buffer) + bytes)) Buffer;
  buffer->bytes = bytes;
  return Ref<Buffer>::adopt(buffer);
}

void Buffer::destroy(Buffer* buffer) noexcept {
  const std::size_t bytes = sizeof(Buffer) + buffer->bytes;
  buffer->~Buffer();
  simd::pool_release(buffer, bytes);
}

}  // namespace tapestry::detail
