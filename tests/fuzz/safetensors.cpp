// libFuzzer: any bytes as a safetensors file are read, or refused with an Error of one line; what is read can
// be used.
#include "core/safetensors.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tapestry;
  try {
    const SafeTensors file = parse_safetensors({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
    std::size_t values = 0;
    for (const auto& [name, x] : file.tensors) values += x.to_vector().size();
    for (const auto& [name, ids] : file.indices) values += ids.to_vector().size();
    if (values > size) std::abort();  // every value takes at least a byte
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.empty() || message.find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
