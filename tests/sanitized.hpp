// True if the tests run under AddressSanitizer, which takes ten times as long for the same code. Tests that run the
// same code many times then try fewer cases.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define TAPESTRY_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TAPESTRY_ADDRESS_SANITIZER 1
#endif
#endif

namespace tapestry {

#ifdef TAPESTRY_ADDRESS_SANITIZER
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

}  // namespace tapestry
