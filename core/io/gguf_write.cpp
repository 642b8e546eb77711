// Writes GGUF files. Only the header is built in memory; the blocks of tensors are not copied.
#include <fmt/format.h>

#include <cstring>
#include <type_traits>

#include "core/io/file.hpp"
#include "core/io/gguf.hpp"
#include "core/io/gguf_format.hpp"
#include "core/io/text.hpp"
#include "core/tensor/error.hpp"

namespace tapestry {

namespace {

using namespace detail;

constexpr std::size_t kLongestTensorName = 63;  // ggml has 64 bytes, the last one for a NUL

/// Builds the header in memory.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& path) : path_(printable(path.native(), 500)) {}

  std::vector<std::byte> bytes;

  [[noreturn]] void refuse(const std::string& what) const { fail("cannot write '{}': {}", path_, what); }

  template <class T>
  void number(T value) {
    raw(&value, sizeof(T));
  }
  void string(std::string_view text) {
    number(std::uint64_t{text.size()});
    raw(text.data(), text.size());
  }
  void entry(const std::string& key, const GgufValue& value) {
    string(key);
    number(static_cast<std::uint32_t>(value.index()));
    std::visit([&](const auto& x) { one(key, x, 0); }, value);
  }
  void raw(const void* data, std::size_t count) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), begin, begin + count);
  }

 private:
  /// Appends a value that is nested in `depth` arrays. `key` is for messages.
  template <class T>
  void one(const std::string& key, const T& x, int depth) {
    if constexpr (std::is_same_v<T, std::string>) {
      string(x);
    } else if constexpr (std::is_same_v<T, GgufArray>) {
      if (depth == kGgufArrayDepth)
        refuse(fmt::format("metadata key \"{}\" must nest at most {} arrays, got more", printable(key, 80),
                           kGgufArrayDepth));
      number(static_cast<std::uint32_t>(x.values.index()));
      std::visit(
          [&](const auto& values) {
            number(std::uint64_t{values.size()});
            for (const typename std::decay_t<decltype(values)>::value_type& each : values)
              one(key, each, depth + 1);
          },
          x.values);
    } else {
      number(x);  // a bool is a byte, 0 or 1
    }
  }

  std::string path_;  // for messages
};

}  // namespace

void write_gguf(const std::filesystem::path& path,
                const std::map<std::string, GgufTensor, std::less<>>& tensors, const GgufMetadata& metadata) {
  Writer header(path);
  const auto given = gguf_alignment(metadata);
  if (const auto* complaint = std::get_if<std::string>(&given)) header.refuse(*complaint);
  const auto alignment = std::get<std::uint64_t>(given);
  const std::vector<std::byte> zeros(alignment);

  header.raw(kGgufMagic.data(), kGgufMagic.size());
  header.number(kGgufVersion);
  header.number(std::uint64_t{tensors.size()});
  header.number(std::uint64_t{metadata.size()});
  const auto check_name = [&](const char* kind, const std::string& name, std::size_t longest) {
    if (!is_gguf_name(name, longest))
      header.refuse(fmt::format("{} \"{}\" must be UTF-8 without NUL and have 1 to {} bytes, got {}", kind,
                                printable(name, 80), longest, name.size()));
  };
  for (const auto& [key, value] : metadata) {
    check_name("metadata key", key, kGgufLongestName);
    header.entry(key, value);
  }
  std::vector<std::span<const std::byte>> parts(2);  // first the header and its padding
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    check_name("tensor", name, kLongestTensorName);
    const GgufTensorType& type = gguf_tensor_type(tensor.type);
    const auto expected = gguf_tensor_bytes(tensor.shape, type);
    const std::string label = fmt::format("tensor \"{}\" ", printable(name, 80));
    if (const auto* complaint = std::get_if<std::string>(&expected)) header.refuse(label + *complaint);
    if (tensor.shape.rank() > kGgufMostAxes)
      header.refuse(
          fmt::format("{}must have at most {} axes, got {}", label, kGgufMostAxes, tensor.shape.rank()));
    if (tensor.bytes.size() != std::get<std::uint64_t>(expected))
      header.refuse(fmt::format("{}of type {} and shape ({}) must have {} bytes, got {}", label, type.name,
                                fmt::join(tensor.shape, ","), std::get<std::uint64_t>(expected),
                                tensor.bytes.size()));
    header.string(name);
    header.number(static_cast<std::uint32_t>(tensor.shape.rank()));
    for (int axis = tensor.shape.rank(); axis-- > 0;)
      header.number(static_cast<std::uint64_t>(tensor.shape[axis]));
    header.number(type.number);
    header.number(offset);
    const std::uint64_t padding = gguf_padding(tensor.bytes.size(), alignment);
    parts.push_back(tensor.bytes);
    parts.push_back(std::span(zeros).first(padding));
    offset += tensor.bytes.size() + padding;
  }
  parts[0] = header.bytes;
  parts[1] = std::span(zeros).first(gguf_padding(header.bytes.size(), alignment));
  write_file(path, parts);
}

}  // namespace tapestry
