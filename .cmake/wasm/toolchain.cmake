# Emscripten as its own `em-config` has it. Debian's package is apt-get install emscripten.
execute_process(COMMAND em-config EMSCRIPTEN_ROOT OUTPUT_VARIABLE tapestry_emscripten
                OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE tapestry_status)
if(NOT tapestry_status EQUAL 0)
  message(FATAL_ERROR "Emscripten is missing: run \"apt-get install emscripten\", or source emsdk_env.sh")
endif()
# Node runs what is built. Emscripten 3.1 takes Node's fetch() for a browser's, which reads no files.
set(CMAKE_CROSSCOMPILING_EMULATOR "node;--no-experimental-fetch" CACHE STRING "What runs the tests" FORCE)
include(${tapestry_emscripten}/cmake/Modules/Platform/Emscripten.cmake)
# Debian keeps the modules that Emscripten links with where Node does not look.
if(EXISTS /usr/share/nodejs/acorn)
  set(CMAKE_CXX_LINKER_LAUNCHER ${CMAKE_COMMAND} -E env NODE_PATH=/usr/share/nodejs)
endif()
