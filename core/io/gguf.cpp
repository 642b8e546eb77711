// Looks up metadata and tensors of GGUF files; gguf_parse.cpp reads them, gguf_write.cpp writes them.
#include "core/io/gguf.hpp"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "core/io/file.hpp"
#include "core/io/gguf_format.hpp"
#include "core/io/text.hpp"
#include "core/tensor/error.hpp"

namespace tapestry {

namespace {

/// Returns ", the first: …" with up to five names, or nothing if there are none.
template <class Map>
std::string first_names(const Map& all) {
  std::vector<std::string> some;
  for (auto place = all.begin(); place != all.end() && some.size() < 5; ++place)
    some.push_back(printable(place->first, 40));
  return some.empty() ? "" : fmt::format(", the first: {}", fmt::join(some, ", "));
}

/// Returns the type of a value for messages.
std::string type_name(const GgufValue& value) {
  const auto* array = std::get_if<GgufArray>(&value);
  if (!array) return std::string(detail::gguf_value_type_name(value.index()));
  const std::size_t count = std::visit([](const auto& values) { return values.size(); }, array->values);
  return fmt::format("array of {} {}", count, detail::gguf_value_type_name(array->values.index()));
}

template <class T>
constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// True if a stored value of type From can be read as a To.
template <class To, class From>
constexpr bool converts = std::is_same_v<To, From> || (is_integer<To> && is_integer<From>) ||
                          (std::is_floating_point_v<To> && std::is_floating_point_v<From>);

template <class T>
struct Wanted {
  static constexpr const char* name = is_integer<T>                 ? "an integer"
                                      : std::is_floating_point_v<T> ? "a floating-point number"
                                      : std::is_same_v<T, bool>     ? "a bool"
                                                                    : "a string";
};
template <class T>
struct Wanted<std::vector<T>> {
  static constexpr const char* name = is_integer<T>                 ? "an array of integers"
                                      : std::is_floating_point_v<T> ? "an array of floating-point numbers"
                                      : std::is_same_v<T, bool>     ? "an array of bools"
                                                                    : "an array of strings";
};

/// Converts a value of the file; returns false for a value of another type.
template <class To>
bool convert(const GgufValue& value, To& result, const auto& refuse_range) {
  const auto one = [&]<class T, class From>(const From& from) -> T {
    if constexpr (is_integer<T>)
      if (!std::in_range<T>(from)) refuse_range(from);
    return static_cast<T>(from);
  };
  return std::visit(
      [&]<class From>(const From& from) {
        if constexpr (converts<To, From>) {
          result = one.template operator()<To>(from);
          return true;
        }
        return false;
      },
      value);
}

template <class To>
bool convert(const GgufValue& value, std::vector<To>& result, const auto& refuse_range) {
  const auto* array = std::get_if<GgufArray>(&value);
  if (!array) return false;
  return std::visit(
      [&](const auto& values) {
        using From = typename std::decay_t<decltype(values)>::value_type;
        if constexpr (converts<To, From>) {
          result.reserve(values.size());
          for (const From& from : values) {
            To to{};
            convert(GgufValue(from), to, refuse_range);
            result.push_back(std::move(to));
          }
          return true;
        }
        return false;
      },
      array->values);
}

}  // namespace

bool GgufArray::operator==(const GgufArray& other) const { return values == other.values; }

const GgufTensor& Gguf::at(std::string_view name) const {
  if (const auto place = tensors.find(name); place != tensors.end()) return place->second;
  if (const auto place = unsupported.find(name); place != unsupported.end())
    fail(
        "'{}': tensor \"{}\" has type {} (number {}), which is not supported; use a file with F32, F16, BF16, Q8_0, "
        "Q4_0, Q4_1, Q5_0, Q5_1, Q4_K and Q6_K alone",
        where, printable(name, 80), place->second.type_name, place->second.type);
  fail("'{}' has no tensor named \"{}\"; it has {}{}", where, printable(name, 80),
       tensors.size() + unsupported.size(), first_names(tensors));
}

template <class T>
T Gguf::get(std::string_view key) const {
  const auto place = metadata.find(key);
  const std::string label = printable(key, 80);
  if (place == metadata.end())
    fail("'{}' has no metadata key \"{}\"; it has {}{}", where, label, metadata.size(),
         first_names(metadata));
  T result{};
  const auto refuse_range = [&](auto value) {
    fail("'{}': metadata key \"{}\" must be at most 9223372036854775807, got {}", where, label, value);
  };
  if (!convert(place->second, result, refuse_range))
    fail("'{}': metadata key \"{}\" must be {}, got {}", where, label, Wanted<T>::name,
         type_name(place->second));
  return result;
}

template std::int64_t Gguf::get(std::string_view key) const;
template double Gguf::get(std::string_view key) const;
template bool Gguf::get(std::string_view key) const;
template std::string Gguf::get(std::string_view key) const;
template std::vector<std::int64_t> Gguf::get(std::string_view key) const;
template std::vector<double> Gguf::get(std::string_view key) const;
template std::vector<bool> Gguf::get(std::string_view key) const;
template std::vector<std::string> Gguf::get(std::string_view key) const;

Gguf read_gguf(const std::filesystem::path& path) {
  MappedFile file = map_file(path);
  return parse_gguf(file.bytes, path.native(), std::move(file.owner));
}

}  // namespace tapestry
