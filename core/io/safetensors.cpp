// Reads and writes the values of safetensors files; safetensors_header.cpp checks the header.
#include "core/io/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>

#include "core/io/file.hpp"
#include "core/io/safetensors_header.hpp"
#include "core/io/text.hpp"
#include "core/ops/views.hpp"
#include "core/quantised/half.hpp"

namespace tapestry {

namespace {

using detail::Stored;
using detail::StoredTensor;

/// Calls put(i, value) for each value of type Raw in the bytes, which need not be aligned.
template <class Raw, class Put>
void each_value(std::span<const std::byte> bytes, Put put) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(Raw); ++i) {
    Raw value;
    std::memcpy(&value, bytes.data() + i * sizeof(Raw), sizeof(Raw));
    put(i, value);
  }
}

template <class T>
Tensor copied(std::span<const std::byte> bytes, const Dims& shape) {
  Tensor x = Tensor::uninitialised(shape, kDType<T>);
  if (!bytes.empty()) std::memcpy(x.mutable_data<T>(), bytes.data(), bytes.size());
  return x;
}

template <class F>
Tensor widened(std::span<const std::byte> bytes, const Dims& shape, F convert) {
  Tensor x = Tensor::uninitialised(shape, DType::f32);
  float* out = x.mutable_data<float>();
  each_value<std::uint16_t>(bytes, [&](std::size_t i, std::uint16_t value) { out[i] = convert(value); });
  return x;
}

template <class Raw>
Indices whole_numbers(std::span<const std::byte> bytes, const Dims& shape) {
  std::vector<std::int64_t> values(bytes.size() / sizeof(Raw));
  each_value<Raw>(bytes, [&](std::size_t i, Raw value) { values[i] = value; });
  return Indices(values, shape);
}

void take(SafeTensors& result, const std::string& name, const StoredTensor& stored,
          std::span<const std::byte> data) {
  const auto bytes = data.subspan(stored.begin, stored.end - stored.begin);
  const Dims& shape = stored.shape;
  const auto tensor = [&](Tensor x) { result.tensors.emplace(name, std::move(x)); };
  const auto indices = [&](Indices ids) { result.indices.emplace(name, std::move(ids)); };
  switch (stored.type) {
    case Stored::f64:
      return tensor(copied<double>(bytes, shape));
    case Stored::f32:
      return tensor(copied<float>(bytes, shape));
    case Stored::f16:
      return tensor(widened(bytes, shape, half_to_float));
    case Stored::bf16:
      return tensor(widened(bytes, shape, bfloat_to_float));
    case Stored::i64:
      return indices(whole_numbers<std::int64_t>(bytes, shape));
    case Stored::i32:
      return indices(whole_numbers<std::int32_t>(bytes, shape));
    case Stored::i16:
      return indices(whole_numbers<std::int16_t>(bytes, shape));
    case Stored::i8:
      return indices(whole_numbers<std::int8_t>(bytes, shape));
    case Stored::u32:
      return indices(whole_numbers<std::uint32_t>(bytes, shape));
    case Stored::u16:
      return indices(whole_numbers<std::uint16_t>(bytes, shape));
    case Stored::u8:
      return indices(whole_numbers<std::uint8_t>(bytes, shape));
  }
}

/// Values of one tensor to write, kept until the file is written.
struct WrittenTensor {
  Tensor dense;
  std::vector<std::uint16_t> halves;  // used instead of dense for bf16

  WrittenTensor(const Tensor& x, WriteDType as) : dense(contiguous(x.detach())) {
    if (as != WriteDType::bf16) return;
    if (dense.dtype() != DType::f32) dense = dense.to(DType::f32);
    halves.resize(static_cast<std::size_t>(x.count()));
    std::transform(dense.data<float>(), dense.data<float>() + x.count(), halves.begin(), float_to_bfloat);
    dense = {};
  }
  std::span<const std::byte> bytes() const {
    if (!dense.defined()) return std::as_bytes(std::span(halves));
    std::span<const std::byte> all;
    dispatch(dense.dtype(), [&](auto zero) {
      all = std::as_bytes(std::span(dense.data<decltype(zero)>(), static_cast<std::size_t>(dense.count())));
    });
    return all;
  }
};

template <class T>
const T& look_up(const std::map<std::string, T>& all, std::string_view name, const std::string& where,
                 const char* what) {
  const auto place = all.find(std::string(name));
  if (place != all.end()) return place->second;
  std::vector<std::string> some;
  for (const auto& [known, value] : all)
    if (some.size() < 5) some.push_back(printable(known, 40));
  fail("'{}' has no {} named \"{}\"; it has {} of that kind{}{}", where, what, printable(name, 80),
       all.size(), some.empty() ? "" : ", the first: ", fmt::join(some, ", "));
}

}  // namespace

const Tensor& SafeTensors::at(std::string_view name) const {
  return look_up(tensors, name, where, "floating-point tensor");
}

const Indices& SafeTensors::indices_at(std::string_view name) const {
  return look_up(indices, name, where, "integer tensor");
}

SafeTensors parse_safetensors(std::span<const std::byte> bytes, std::string_view where) {
  detail::SafeTensorsHeader header = detail::parse_safetensors_header(bytes, where);
  SafeTensors result;
  for (const auto& [name, stored] : header.tensors) take(result, name, stored, header.data);
  result.metadata = std::move(header.metadata);
  result.where = printable(where, 500);
  return result;
}

SafeTensors read_safetensors(const std::filesystem::path& path) {
  return parse_safetensors(read_file(path), path.native());
}

void write_safetensors(const std::filesystem::path& path, const State& tensors,
                       const std::map<std::string, std::string>& metadata, WriteDType as) {
  const std::string where = printable(path.native(), 500);
  std::string header = "{";
  const auto separate = [&] {
    if (header.size() > 1) header += ',';
  };
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    const char* comma = "";
    for (const auto& [name, text] : metadata) {
      header +=
          fmt::format("{}{}:{}", comma, detail::json_string(name, where), detail::json_string(text, where));
      comma = ",";
    }
    header += '}';
  }
  std::deque<WrittenTensor> written;
  std::vector<std::span<const std::byte>> parts(1);  // the header comes first
  std::size_t begin = 0;
  for (const DType type : {DType::f64, DType::f32}) {  // f64 first, so that every value is aligned
    for (const auto& [name, x] : tensors) {
      if (!x.defined() || !x.impl().buffer || name == "__metadata__")
        fail("cannot write '{}': tensor \"{}\" {}", where, printable(name, 80),
             name == "__metadata__" ? "has a name that the format reserves"
                                    : "has no values yet: initialise the model");
      if (x.dtype() != type) continue;
      const std::size_t bytes = written.emplace_back(x, as).bytes().size();
      separate();
      header += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                            detail::json_string(name, where),
                            as == WriteDType::bf16 ? "BF16"
                            : type == DType::f64   ? "F64"
                                                   : "F32",
                            fmt::join(x.shape(), ","), begin, begin + bytes);
      parts.push_back(written.back().bytes());
      begin += bytes;
    }
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string start(8, '\0');
  const auto length = static_cast<std::uint64_t>(header.size());
  std::memcpy(start.data(), &length, sizeof(length));  // the format and x86 are little-endian
  start += header;
  parts[0] = std::as_bytes(std::span<const char>(start));
  write_file(path, parts);
}

}  // namespace tapestry
