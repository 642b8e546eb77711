// libFuzzer: any bytes as a safetensors file are read, or refused with an Error of one line; what is read can
// be used.
#include "core/io/safetensors.hpp"

#include "tests/fuzz/foreign.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tapestry;
  fuzz::or_refused([&] {
    const SafeTensors file = parse_safetensors({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
    std::size_t values = 0;
    for (const auto& [name, x] : file.tensors) values += x.to_vector().size();
    for (const auto& [name, ids] : file.indices) values += ids.to_vector().size();
    fuzz::must(values <= size);  // every value takes at least a byte
  });
  return 0;
}
