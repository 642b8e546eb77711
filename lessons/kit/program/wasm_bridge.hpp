// Structured messages from a lesson in WebAssembly to its page; lessons/web/worker.js forwards them. In a native build
// these functions do nothing.
#pragma once

#include <string_view>

namespace tapestry::kit {

#ifdef __EMSCRIPTEN__
inline constexpr bool kOnPage = true;
#else
inline constexpr bool kOnPage = false;
#endif

/// Reports that `done` of `total` steps are completed, with the mean loss and the speed in `unit` per second.
void tell_progress(double done, double total, double loss, double speed, std::string_view unit);

/// Reports a figure. `target` is the required value, "≥ 99 %", or empty. `verdict` is "ok", "MISSED" or "not judged",
/// or empty without a target.
void tell_figure(std::string_view what, double value, std::string_view unit, std::string_view target,
                 std::string_view verdict);

/// Reports new characters from a language model, whose KV cache holds `kept` characters of at most `room`.
void tell_written(std::string_view text, double kept, double room);

/// Sends a heatmap as the JSON `map` from json(). The call comes before its SVG `file` is written.
void tell_map(std::string_view file, std::string_view map);

}  // namespace tapestry::kit
