#include "lessons/kit/program/wasm_bridge.hpp"

#ifdef __EMSCRIPTEN__
#include <emscripten.h>

#include <string>

// Each calls the JavaScript module's function of that name if there is one.
EM_JS(void, tapestry_page_progress, (double done, double total, double loss, double speed, const char* unit),
      {
        if (Module['onProgress']) Module['onProgress']({done, total, loss, speed, unit : UTF8ToString(unit)});
      })
EM_JS(void, tapestry_page_figure,
      (const char* what, double value, const char* unit, const char* target, const char* verdict), {
        if (Module['onFigure'])
          Module['onFigure']({
            what : UTF8ToString(what),
            value,
            unit : UTF8ToString(unit),
            target : UTF8ToString(target),
            verdict : UTF8ToString(verdict)
          });
      })
EM_JS(void, tapestry_page_written, (const char* text, double kept, double room), {
  if (Module['onWritten']) Module['onWritten']({text : UTF8ToString(text), kept, room});
})
EM_JS(void, tapestry_page_map, (const char* file, const char* map), {
  if (Module['onMap']) Module['onMap']({name : UTF8ToString(file), map : JSON.parse(UTF8ToString(map))});
})
#endif

namespace tapestry::kit {

#ifdef __EMSCRIPTEN__

void tell_progress(double done, double total, double loss, double speed, std::string_view unit) {
  tapestry_page_progress(done, total, loss, speed, std::string(unit).c_str());
}

void tell_figure(std::string_view what, double value, std::string_view unit, std::string_view target,
                 std::string_view verdict) {
  tapestry_page_figure(std::string(what).c_str(), value, std::string(unit).c_str(),
                       std::string(target).c_str(), std::string(verdict).c_str());
}

void tell_written(std::string_view text, double kept, double room) {
  tapestry_page_written(std::string(text).c_str(), kept, room);
}

void tell_map(std::string_view file, std::string_view map) {
  tapestry_page_map(std::string(file).c_str(), std::string(map).c_str());
}

#else

void tell_progress(double, double, double, double, std::string_view) {}
void tell_figure(std::string_view, double, std::string_view, std::string_view, std::string_view) {}
void tell_written(std::string_view, double, double) {}
void tell_map(std::string_view, std::string_view) {}

#endif

}  // namespace tapestry::kit
