// Parses the header event by event and accepts only its legal structure. So the memory depends on the names and numbers
// in the header alone, not on the depth or length of the JSON.
#include "core/io/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/io/text.hpp"
#include "core/tensor/error.hpp"

namespace tapestry::detail {

namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // as in the reference implementation

struct TypeName {
  std::string_view name;
  Stored type;
  std::size_t bytes;
};
constexpr std::array<TypeName, 11> kTypes{{{"F64", Stored::f64, 8},
                                           {"F32", Stored::f32, 4},
                                           {"F16", Stored::f16, 2},
                                           {"BF16", Stored::bf16, 2},
                                           {"I64", Stored::i64, 8},
                                           {"I32", Stored::i32, 4},
                                           {"I16", Stored::i16, 2},
                                           {"I8", Stored::i8, 1},
                                           {"U32", Stored::u32, 4},
                                           {"U16", Stored::u16, 2},
                                           {"U8", Stored::u8, 1}}};

/// Header entry of one tensor, before it is checked against the file.
struct Entry {
  const TypeName* type = nullptr;
  std::vector<std::uint64_t> shape, offsets;
  bool has_shape = false, has_offsets = false;
};

/// Receives the JSON parser's events. Its function names and return types are those of nlohmann::json_sax. All errors
/// are thrown.
class HeaderEvents {
 public:
  explicit HeaderEvents(std::string_view where) : where_(where) {}

  std::map<std::string, Entry> entries;
  std::map<std::string, std::string> metadata;

  bool null() { return unexpected("null"); }
  bool boolean(bool value) { return unexpected(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return unexpected(fmt::format("{}", value)); }
  bool number_float(double, const std::string& text) { return unexpected(text); }
  bool binary(const nlohmann::json::binary_t&) { return unexpected("bytes"); }

  bool number_unsigned(std::uint64_t value) {
    if (expect_ == Expect::shape) {
      if (entry_->shape.size() == kMaxRank) refuse("must have at most {} axes", kMaxRank);
      entry_->shape.push_back(value);
    } else if (expect_ == Expect::offsets) {
      if (entry_->offsets.size() == 2) refuse("must have two data_offsets, got more");
      entry_->offsets.push_back(value);
    } else {
      return unexpected(fmt::format("{}", value));
    }
    return true;
  }

  bool string(std::string& value) {
    if (expect_ == Expect::type) {
      for (const TypeName& type : kTypes)
        if (type.name == value) entry_->type = &type;
      if (!entry_->type)
        refuse(
            "has unsupported type {}; "
            "the supported types are F64, F32, F16, BF16, I64, I32, I16, I8, U32, U16 and U8",
            quote(value));
      expect_ = Expect::field;
    } else if (expect_ == Expect::metadata_value) {
      metadata.emplace(name_, std::move(value));
      expect_ = Expect::metadata;
    } else {
      return unexpected(quote(value));
    }
    return true;
  }

  bool start_object(std::size_t) {
    if (expect_ == Expect::header)
      expect_ = Expect::name;
    else if (expect_ == Expect::metadata_object)
      expect_ = Expect::metadata;
    else if (expect_ == Expect::entry)
      expect_ = Expect::field;
    else
      return unexpected("an object");
    return true;
  }

  bool key(std::string& name) {
    if (expect_ == Expect::field) {
      const bool seen = (name == "dtype" && entry_->type) || (name == "shape" && entry_->has_shape) ||
                        (name == "data_offsets" && entry_->has_offsets);
      if (seen) refuse("has {} twice", quote(name));
      if (name == "dtype") {
        expect_ = Expect::type;
      } else if (name == "shape") {
        expect_ = Expect::shape_array;
        entry_->has_shape = true;
      } else if (name == "data_offsets") {
        expect_ = Expect::offsets_array;
        entry_->has_offsets = true;
      } else {
        refuse("has unknown field {}; its fields are dtype, shape and data_offsets", quote(name));
      }
      return true;
    }
    if (name.find('\0') != std::string::npos) fail("'{}': the name {} contains a NUL", where_, quote(name));
    name_ = std::move(name);
    if (expect_ == Expect::metadata) {
      if (metadata.count(name_)) fail("'{}': __metadata__ has {} twice", where_, quote(name_));
      expect_ = Expect::metadata_value;
    } else if (name_ == "__metadata__") {
      if (std::exchange(has_metadata_, true)) fail("'{}': the header has __metadata__ twice", where_);
      expect_ = Expect::metadata_object;
    } else {
      const auto [place, is_new] = entries.try_emplace(name_);
      if (!is_new) fail("'{}': two tensors are named {}", where_, quote(name_));
      entry_ = &place->second;
      expect_ = Expect::entry;
    }
    return true;
  }

  bool end_object() {
    if (expect_ == Expect::field) {
      if (!entry_->type || !entry_->has_shape || !entry_->has_offsets)
        refuse("has no {}", !entry_->type ? "dtype" : !entry_->has_shape ? "shape" : "data_offsets");
      if (entry_->offsets.size() != 2) refuse("must have two data_offsets, got {}", entry_->offsets.size());
    }
    expect_ = Expect::name;  // after the header's own end no event follows
    return true;
  }

  bool start_array(std::size_t) {
    if (expect_ == Expect::shape_array)
      expect_ = Expect::shape;
    else if (expect_ == Expect::offsets_array)
      expect_ = Expect::offsets;
    else
      return unexpected("a list");
    return true;
  }
  bool end_array() {
    expect_ = Expect::field;
    return true;
  }

  [[noreturn]] bool parse_error(std::size_t position, const std::string& token,
                                const nlohmann::json::exception&) {
    fail("'{}': the header is not valid JSON near byte {} of the file (\"{}\")", where_,
         kLengthBytes + position, printable(token, 40));
  }

 private:
  enum class Expect {
    header,
    name,
    metadata_object,
    metadata,
    metadata_value,
    entry,
    field,
    type,
    shape_array,
    shape,
    offsets_array,
    offsets
  };

  static std::string quote(std::string_view text) { return fmt::format("\"{}\"", printable(text, 80)); }

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail("'{}': tensor {} {}", where_, quote(name_), fmt::format(format, std::forward<Args>(args)...));
  }

  bool unexpected(std::string_view found) const {
    const std::string what = printable(found, 90);
    switch (expect_) {
      case Expect::header:
      case Expect::name:
        fail("'{}': the header must be an object, got {}", where_, what);
      case Expect::metadata_object:
        fail("'{}': __metadata__ must be an object, got {}", where_, what);
      case Expect::metadata:
      case Expect::metadata_value:
        fail("'{}': values in __metadata__ must be strings, got {} for {}", where_, what, quote(name_));
      case Expect::shape_array:
      case Expect::shape:
        refuse("must have a list of non-negative integers as its shape, got {}", what);
      case Expect::offsets_array:
      case Expect::offsets:
        refuse("must have a list of two non-negative integers as its data_offsets, got {}", what);
      case Expect::entry:
      case Expect::field:
      case Expect::type:
        refuse("must {1}, got {0}", what,
               expect_ == Expect::type ? "have a string as its dtype"
                                       : "be an object with dtype, shape and data_offsets");
    }
    return false;
  }

  std::string where_, name_;
  Entry* entry_ = nullptr;
  Expect expect_ = Expect::header;
  bool has_metadata_ = false;
};

/// Checks the shape and offsets of one tensor, without the other tensors.
StoredTensor check(const Entry& entry, const std::string& name, std::size_t data_bytes,
                   std::string_view where) {
  const auto refuse = [&](const std::string& what) {
    fail("'{}': tensor \"{}\" {}", where, printable(name, 80), what);
  };
  StoredTensor tensor;
  tensor.type = entry.type->type;
  // An axis of size 0 must not hide an overflow, because strides are products of the other sizes.
  Size count = 1;
  bool overflows = false, empty = false;
  for (const std::uint64_t size : entry.shape) {
    overflows = overflows || size > static_cast<std::uint64_t>(std::numeric_limits<Size>::max());
    empty = empty || size == 0;
    if (!overflows && size != 0) overflows = __builtin_mul_overflow(count, static_cast<Size>(size), &count);
    if (!overflows) tensor.shape.push_back(static_cast<Size>(size));
  }
  Size bytes = 0;
  if (overflows || __builtin_mul_overflow(count, static_cast<Size>(entry.type->bytes), &bytes))
    refuse(fmt::format("has shape ({}), whose product overflows", fmt::join(entry.shape, ",")));
  if (empty) bytes = 0;
  const std::uint64_t begin = entry.offsets[0], end = entry.offsets[1];
  if (begin > end)
    refuse(fmt::format("has data_offsets [{}, {}]; the first must not exceed the second", begin, end));
  if (end > data_bytes)
    refuse(
        fmt::format("has data_offsets [{}, {}], but only {} bytes follow the header; is the file truncated?",
                    begin, end, data_bytes));
  if (end - begin != static_cast<std::uint64_t>(bytes))
    refuse(fmt::format("has {} bytes between its data_offsets [{}, {}], but {} of shape ({}) takes {}",
                       end - begin, begin, end, entry.type->name, fmt::join(entry.shape, ","), bytes));
  tensor.begin = begin;
  tensor.end = end;
  return tensor;
}

/// Checks that the tensors fill the data without gap or overlap.
void check_layout(const std::map<std::string, StoredTensor>& tensors, std::size_t data_bytes,
                  std::string_view where) {
  std::vector<std::pair<const std::string*, const StoredTensor*>> order;
  for (const auto& [name, tensor] : tensors) order.emplace_back(&name, &tensor);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  std::size_t expected = 0;
  const std::string* before = nullptr;
  for (const auto& [name, tensor] : order) {
    if (tensor->begin > expected)
      fail("'{}': no tensor covers bytes {} to {} of the data, before tensor \"{}\"", where, expected,
           tensor->begin, printable(*name, 80));
    if (tensor->begin < expected)
      fail("'{}': tensors \"{}\" and \"{}\" overlap at byte {} of the data", where, printable(*before, 80),
           printable(*name, 80), tensor->begin);
    expected = tensor->end;
    before = name;
  }
  if (expected != data_bytes)
    fail("'{}': {} bytes after the last tensor belong to no tensor", where, data_bytes - expected);
}

}  // namespace

SafeTensorsHeader parse_safetensors_header(std::span<const std::byte> file, std::string_view where_given) {
  const std::string where = printable(where_given, 500);
  if (file.size() < kLengthBytes)
    fail(
        "'{}': a safetensors file must start with 8 bytes for the header's length, "
        "got {} bytes in total",
        where, file.size());
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(file[i]);
  const std::uint64_t rest = file.size() - kLengthBytes;
  if (length > rest)
    fail(
        "'{}': the first 8 bytes give a header length of {} bytes, but {} follow; the file is truncated or not a "
        "safetensors file",
        where, length, rest);
  if (length > kLongestHeader)
    fail("'{0}': the header must have at most {2} bytes, got {1}", where, length, kLongestHeader);
  const std::string_view json(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  if (json.empty() || json[0] != '{')
    fail("'{}': the header does not start with \"{{\" at byte {}; the file is not a safetensors file", where,
         kLengthBytes);
  // The JSON parser would treat a NUL as the end of the text.
  if (const auto nul = json.find('\0'); nul != std::string_view::npos)
    fail("'{}': the header contains a NUL at byte {} of the file", where, kLengthBytes + nul);

  HeaderEvents events(where);
  nlohmann::json::sax_parse(json.begin(), json.end(), &events);
  SafeTensorsHeader header;
  header.data = file.subspan(kLengthBytes + length);
  for (const auto& [name, entry] : events.entries)
    header.tensors.emplace(name, check(entry, name, header.data.size(), where));
  check_layout(header.tensors, header.data.size(), where);
  header.metadata = std::move(events.metadata);
  return header;
}

std::string json_string(const std::string& text, const std::string& where) {
  if (!is_utf8(text) || text.find('\0') != std::string::npos)
    fail("cannot write '{}': \"{}\" must be UTF-8 without a NUL", where, printable(text, 80));
  return nlohmann::json(text).dump();
}

}  // namespace tapestry::detail
