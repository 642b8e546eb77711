// The page that a lesson runs on as WebAssembly, and what it is told beside the text: lessons/web/worker.js passes
// it on as messages. Elsewhere nobody listens.
#pragma once

#include <string_view>

namespace tapestry::kit {

#ifdef __EMSCRIPTEN__
inline constexpr bool kOnPage = true;
#else
inline constexpr bool kOnPage = false;
#endif

/// So many of `total` steps are done.
void tell_progress(double done, double total, double loss, double speed, std::string_view unit);

/// A figure of the report. `target` is empty, or what it was held to: "≥ 99 %"; `verdict` "ok", "MISSED", "not
/// judged", or empty where there is no target.
void tell_figure(std::string_view what, double value, std::string_view unit, std::string_view target,
                 std::string_view verdict);

/// These characters have just been written by a language model, which keeps keys and values of `kept` characters, of
/// at most `room`.
void tell_written(std::string_view text, double kept, double room);

/// A heatmap, json() of it, whose SVG is written as `file` next.
void tell_map(std::string_view file, std::string_view map);

}  // namespace tapestry::kit
