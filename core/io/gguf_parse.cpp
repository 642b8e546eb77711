// Parses GGUF files from the first byte to the last. Every length and count is compared with the bytes that are left
// before anything is allocated, so that memory is bounded by the file's size.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/io/gguf.hpp"
#include "core/io/gguf_format.hpp"
#include "core/io/text.hpp"
#include "core/tensor/error.hpp"

namespace tapestry {

namespace {

using namespace detail;

constexpr std::uint64_t kLeastEntry = 8 + 1 + 4 + 1;  // a key of one letter, a type and a value of one byte
constexpr std::uint64_t kLeastTensor =
    8 + 1 + 4 + 4 + 8;  // a name of one letter, no axes, a type and an offset

std::string quote(std::string_view text) { return fmt::format("\"{}\"", printable(text, 80)); }

/// Minimum number of bytes of one T in the file.
template <class T>
constexpr std::uint64_t least_bytes() {
  if (std::is_same_v<T, std::string>) return 8;
  if (std::is_same_v<T, GgufArray>) return 4 + 8;
  return sizeof(T);  // a bool is one byte, too
}

/// Reads numbers and strings one after another. For error messages, `what_` names the part of the file that is read.
class Reader {
 public:
  Reader(std::span<const std::byte> file, std::string where) : file_(file), where_(std::move(where)) {}

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail("'{}': {}", where_, fmt::format(format, std::forward<Args>(args)...));
  }

  void begin(std::string what) { what_ = std::move(what); }
  std::uint64_t position() const { return position_; }
  std::uint64_t left() const { return file_.size() - position_; }

  std::span<const std::byte> bytes(std::uint64_t count) {
    if (count > left())
      refuse("{} needs {} bytes at byte {}, but only {} are left; is the file truncated?", what_, count,
             position_, left());
    const auto result = file_.subspan(position_, count);
    position_ += count;
    return result;
  }

  template <class T>
  T number() {
    T result;
    std::memcpy(&result, bytes(sizeof(T)).data(), sizeof(T));  // the format and our targets are little-endian
    return result;
  }

  std::string string() {
    const auto text = bytes(number<std::uint64_t>());
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  std::string name(const char* kind) {
    begin(fmt::format("the name of {}", kind));
    std::string result = string();
    if (!is_gguf_name(result, kGgufLongestName))
      refuse("{} at byte {} must be UTF-8 without NUL and have 1 to {} bytes, got {} bytes ({})", what_,
             position_ - result.size(), kGgufLongestName, result.size(), quote(result));
    begin(fmt::format("{} {}", kind, quote(result)));
    return result;
  }

  GgufValue value() {
    return alternative<GgufValue>(number<std::uint32_t>(), [&](auto zero) { return one<decltype(zero)>(0); });
  }

 private:
  /// Returns a Variant with the alternative of that index, read by read(T{}).
  template <class Variant, class Read, std::size_t index = 0>
  Variant alternative(std::uint32_t type, const Read& read) {
    if constexpr (index == kGgufValueTypes) {
      refuse("{} must have a type from 0 to {}, got {}", what_, kGgufValueTypes - 1, type);
    } else {
      if (type != index) return alternative<Variant, Read, index + 1>(type, read);
      return Variant(std::in_place_index<index>, read(std::variant_alternative_t<index, Variant>{}));
    }
  }

  /// Reads a value that is nested in `depth` arrays.
  template <class T>
  T one(int depth) {
    if constexpr (std::is_same_v<T, std::string>) {
      return string();
    } else if constexpr (std::is_same_v<T, GgufArray>) {
      return array(depth + 1);
    } else if constexpr (std::is_same_v<T, bool>) {
      const auto byte = number<std::uint8_t>();
      if (byte > 1) refuse("{} must have 0 or 1 as a bool, got {}", what_, byte);
      return byte == 1;
    } else {
      return number<T>();
    }
  }

  GgufArray array(int depth) {
    if (depth > kGgufArrayDepth) refuse("{} must nest at most {} arrays, got more", what_, kGgufArrayDepth);
    const auto type = number<std::uint32_t>();
    const auto count = number<std::uint64_t>();
    using Values = decltype(GgufArray::values);
    return {alternative<Values>(type, [&](auto empty) {
      using T = typename decltype(empty)::value_type;
      if (count > left() / least_bytes<T>())
        refuse(
            "{} has an array of {} elements of type {}, but only {} bytes are left; is the file truncated?",
            what_, count, gguf_value_type_name(type), left());
      empty.reserve(count);
      for (std::uint64_t i = 0; i < count; ++i) empty.push_back(one<T>(depth));
      return empty;
    })};
  }

  std::span<const std::byte> file_;
  std::string where_, what_;
  std::uint64_t position_ = 0;
};

/// A tensor as the file lists it, with the bytes that its blocks take.
struct Listed {
  std::string name;
  Dims shape;
  std::uint32_t number = 0;
  const GgufTensorType* type = nullptr;  // null: unknown, with an unknown number of bytes
  std::uint64_t offset = 0, bytes = 0;
};

Listed read_listed(Reader& reader) {
  Listed tensor;
  tensor.name = reader.name("tensor");
  const auto axes = reader.number<std::uint32_t>();
  if (axes > kMaxRank)
    reader.refuse("tensor {} must have at most {} axes, got {}", quote(tensor.name), kMaxRank, axes);
  for (std::uint32_t i = 0; i < axes; ++i) {
    const auto size = reader.number<std::uint64_t>();
    if (size > static_cast<std::uint64_t>(std::numeric_limits<Size>::max()))
      reader.refuse("tensor {} has an axis of size {}, which overflows", quote(tensor.name), size);
    tensor.shape.insert(0, static_cast<Size>(size));  // the file has the last axis first
  }
  tensor.number = reader.number<std::uint32_t>();
  tensor.offset = reader.number<std::uint64_t>();
  tensor.type = gguf_tensor_type(tensor.number);
  if (!tensor.type) return tensor;
  const auto bytes = gguf_tensor_bytes(tensor.shape, *tensor.type);
  if (const auto* complaint = std::get_if<std::string>(&bytes))
    reader.refuse("tensor {} {}", quote(tensor.name), *complaint);
  tensor.bytes = std::get<std::uint64_t>(bytes);
  return tensor;
}

/// Checks that all blocks are inside the data, aligned, and without overlap. (Gaps are allowed: blocks of an unknown
/// type may fill them.)
void check_layout(const Reader& reader, const std::vector<Listed>& tensors, std::uint64_t data_bytes,
                  std::uint64_t alignment) {
  std::vector<const Listed*> order;
  for (const Listed& tensor : tensors) {
    if (tensor.offset % alignment != 0)
      reader.refuse("tensor {} must have an offset that is a multiple of {}, got {}", quote(tensor.name),
                    alignment, tensor.offset);
    if (tensor.offset > data_bytes || tensor.bytes > data_bytes - tensor.offset)
      reader.refuse(
          "tensor {} has {} bytes at offset {}, but only {} bytes follow the header; is the file truncated?",
          quote(tensor.name), tensor.bytes, tensor.offset, data_bytes);
    if (tensor.bytes != 0) order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(),
            [](const Listed* a, const Listed* b) { return a->offset < b->offset; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes)
      reader.refuse("tensors {} and {} overlap at byte {} of the data", quote(order[i - 1]->name),
                    quote(order[i]->name), order[i]->offset);
}

/// Reads and checks letters and version.
void read_start(Reader& reader) {
  reader.begin("the start of a GGUF file");
  const auto magic = reader.bytes(kGgufMagic.size());
  const std::string_view letters(reinterpret_cast<const char*>(magic.data()), magic.size());
  if (letters != kGgufMagic)
    reader.refuse("a GGUF file must start with \"{}\", got \"{}\"", kGgufMagic, printable(letters));
  const auto version = reader.number<std::uint32_t>();
  if (version != 0 && (version & 0xFFFFU) == 0)
    reader.refuse("the numbers must be little-endian, got a big-endian file; convert it");
  if (version != 2 && version != kGgufVersion)
    reader.refuse("the GGUF version must be 2 or {}, got {}; convert the file", kGgufVersion, version);
}

}  // namespace

Gguf parse_gguf(std::span<const std::byte> bytes, std::string_view where, std::shared_ptr<const void> owner) {
  Gguf result;
  result.where = printable(where, 500);
  Reader reader(bytes, result.where);
  read_start(reader);
  const auto tensors = reader.number<std::uint64_t>();
  const auto keys = reader.number<std::uint64_t>();
  if (keys > reader.left() / kLeastEntry || tensors > reader.left() / kLeastTensor)
    reader.refuse("the file's start announces {} metadata keys and {} tensors, but only {} bytes follow",
                  keys, tensors, reader.left());

  for (std::uint64_t i = 0; i < keys; ++i) {
    const std::string key = reader.name("metadata key");
    if (!result.metadata.try_emplace(key, reader.value()).second)
      reader.refuse("the metadata has {} twice", quote(key));
  }
  const auto alignment = gguf_alignment(result.metadata);
  if (const auto* complaint = std::get_if<std::string>(&alignment)) reader.refuse("{}", *complaint);

  std::vector<Listed> listed;
  for (std::uint64_t i = 0; i < tensors; ++i) listed.push_back(read_listed(reader));
  const std::uint64_t padding = gguf_padding(reader.position(), std::get<std::uint64_t>(alignment));
  // A file without tensors may end before the padding.
  const auto data = bytes.subspan(reader.position() + std::min(padding, reader.left()));
  check_layout(reader, listed, data.size(), std::get<std::uint64_t>(alignment));
  for (const Listed& tensor : listed) {
    if (result.tensors.count(tensor.name) || result.unsupported.count(tensor.name))
      reader.refuse("two tensors are named {}", quote(tensor.name));
    if (tensor.type && tensor.type->type)
      result.tensors.emplace(tensor.name, GgufTensor{tensor.shape, *tensor.type->type,
                                                     data.subspan(tensor.offset, tensor.bytes), owner});
    else
      result.unsupported.emplace(tensor.name,
                                 GgufUnsupported{tensor.shape, tensor.number,
                                                 std::string(tensor.type ? tensor.type->name : "unknown")});
  }
  return result;
}

}  // namespace tapestry
