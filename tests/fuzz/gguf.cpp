// libFuzzer: any bytes as a GGUF file are read, or refused with an Error of one line; tensors do not overlap, and
// metadata of each type can be asked for.
#include "core/io/gguf.hpp"

#include <algorithm>

#include "tests/fuzz/foreign.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tapestry;
  fuzz::or_refused([&] {
    const Gguf file = parse_gguf({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
    std::size_t bytes = 0, sum = 0;
    for (const auto& [name, tensor] : file.tensors) {
      bytes += tensor.bytes.size();
      for (const std::byte byte : tensor.bytes) sum += std::to_integer<std::size_t>(byte);
      fuzz::must(&file.at(name) == &tensor);
    }
    fuzz::must(bytes <= size && sum <= 255 * size);  // tensors do not overlap
    for (const auto& [key, value] : file.metadata) {
      fuzz::or_refused([&, &key = key] { file.get<std::int64_t>(key); });
      fuzz::or_refused([&, &key = key] { file.get<std::vector<double>>(key); });
      fuzz::or_refused([&, &key = key] { file.get<std::vector<std::string>>(key); });
    }
    for (const auto& [name, tensor] : file.unsupported)
      fuzz::or_refused([&, &name = name] { file.at(name); });
  });
  return 0;
}
