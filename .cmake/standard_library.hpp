// What libc++ lacks of C++20, read before every file where that is the standard library: std::bit_cast before its
// version 14, and std::from_chars of float and double before its version 20.
#pragma once
#ifdef __cplusplus
#include <version>
#ifdef _LIBCPP_VERSION

#if !defined(__cpp_lib_bit_cast)
namespace std {
template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}
}  // namespace std
#endif

#if _LIBCPP_VERSION < 200000
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <type_traits>
namespace std {
/// By the C library, in its locale "C", which no program here leaves.
template <class Number>
requires is_floating_point_v<Number> from_chars_result from_chars(const char* begin, const char* end,
                                                                  Number& value) {
  // strtod skips blanks and takes a plus sign and hexadecimal digits, all of which from_chars refuses.
  const char* const digits = begin + (begin != end && *begin == '-');
  if (digits == end || *digits == '+' || *digits == '-' || *digits <= ' ')
    return {begin, errc::invalid_argument};
  const bool hexadecimal = end - digits > 1 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
  const string text(begin, hexadecimal ? digits + 1 : end);
  char* stop = nullptr;
  const Number read = static_cast<Number>(is_same_v<Number, float> ? strtof(text.c_str(), &stop)
                                                                   : strtod(text.c_str(), &stop));
  if (stop == text.c_str()) return {begin, errc::invalid_argument};
  const char* const after = begin + (stop - text.c_str());
  const bool named = (*digits | ' ') == 'i' || (*digits | ' ') == 'n';  // inf, nan
  const bool nothing = text.find_first_of("123456789") >= text.find_first_of("eE");
  if (!named && (isinf(read) || (read == 0 && !nothing))) return {after, errc::result_out_of_range};
  value = read;
  return {after, errc()};
}
}  // namespace std
#endif

#endif
#endif
