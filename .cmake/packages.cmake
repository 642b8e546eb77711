# Finds the packages, or says in one sentence what to install. With TAPESTRY_FETCH_DEPENDENCIES=ON the missing ones are
# downloaded at fixed tags.
include(FetchContent)
set(FETCHCONTENT_QUIET OFF)
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # or their option() would take no notice of what is set here
set(FMT_INSTALL ON)        # our exported targets name fmt and xsimd
set(JSON_BuildTests OFF)
set(CLI11_BUILD_TESTS OFF)
set(CLI11_BUILD_EXAMPLES OFF)
set(CLI11_BUILD_DOCS OFF)
set(BENCHMARK_ENABLE_TESTING OFF)
set(BENCHMARK_ENABLE_INSTALL OFF)
set(tapestry_missing "")

# tapestry_package(name target debian-package repository tag)
macro(tapestry_package name target debian repository tag)
  if(NOT TARGET ${target})
    find_package(${name} QUIET)
    if(NOT TARGET ${target})
      if(TAPESTRY_FETCH_DEPENDENCIES)
        FetchContent_Declare(${name} GIT_REPOSITORY ${repository} GIT_TAG ${tag} GIT_SHALLOW ON)
        FetchContent_MakeAvailable(${name})
        # Their headers are not ours to warn about.
        get_target_property(tapestry_real ${target} ALIASED_TARGET)
        if(NOT tapestry_real)
          set(tapestry_real ${target})
        endif()
        get_target_property(tapestry_includes ${tapestry_real} INTERFACE_INCLUDE_DIRECTORIES)
        set_target_properties(${tapestry_real} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${tapestry_includes}")
      else()
        list(APPEND tapestry_missing ${debian})
      endif()
    endif()
  endif()
endmacro()

find_package(Threads REQUIRED)
tapestry_package(fmt fmt::fmt libfmt-dev https://github.com/fmtlib/fmt.git 9.1.0)
if(TAPESTRY_REGISTERS)
  tapestry_package(xsimd xsimd libxsimd-dev https://github.com/xtensor-stack/xsimd.git 8.1.0)
  if(xsimd_VERSION AND xsimd_VERSION VERSION_LESS 8)  # Ubuntu 22.04's
    message(FATAL_ERROR "xsimd ${xsimd_VERSION} is too old (8.1 or newer is wanted): configure with "
                        "-DTAPESTRY_PORTABLE_SIMD=ON, which needs none.")
  endif()
endif()
tapestry_package(nlohmann_json nlohmann_json::nlohmann_json nlohmann-json3-dev
                 https://github.com/nlohmann/json.git v3.11.2)
include(${CMAKE_CURRENT_LIST_DIR}/utf8proc.cmake)
if(NOT TARGET utf8proc::utf8proc AND TAPESTRY_FETCH_DEPENDENCIES)
  set(UTF8PROC_INSTALL OFF)  # it would go to /usr/local whatever our prefix is: install.cmake takes it along
  tapestry_package(utf8proc utf8proc libutf8proc-dev https://github.com/JuliaStrings/utf8proc.git v2.8.0)
  if(NOT TARGET utf8proc::utf8proc)
    set_target_properties(utf8proc PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES $<BUILD_INTERFACE:${utf8proc_SOURCE_DIR}>
      INTERFACE_SYSTEM_INCLUDE_DIRECTORIES $<BUILD_INTERFACE:${utf8proc_SOURCE_DIR}>
      # It says UTF8PROC_STATIC, which means something on Windows only; precompiled headers would not be taken.
      INTERFACE_COMPILE_DEFINITIONS "")
    add_library(utf8proc::utf8proc ALIAS utf8proc)
  endif()
elseif(NOT TARGET utf8proc::utf8proc)
  list(APPEND tapestry_missing libutf8proc-dev)
endif()
if(TAPESTRY_BUILD_LESSONS OR TAPESTRY_BUILD_TESTS)
  tapestry_package(CLI11 CLI11::CLI11 libcli11-dev https://github.com/CLIUtils/CLI11.git v2.1.2)
endif()
if(TAPESTRY_BUILD_TESTS)
  tapestry_package(Catch2 Catch2::Catch2 catch2 https://github.com/catchorg/Catch2.git v2.13.10)
endif()
if(TAPESTRY_BUILD_TESTS AND TAPESTRY_BUILD_BENCHMARKS STREQUAL "AUTO")
  find_package(benchmark QUIET)
elseif(TAPESTRY_BUILD_TESTS AND TAPESTRY_BUILD_BENCHMARKS)
  tapestry_package(benchmark benchmark::benchmark libbenchmark-dev https://github.com/google/benchmark.git v1.7.1)
endif()

if(tapestry_missing)
  list(JOIN tapestry_missing " " tapestry_missing)
  message(FATAL_ERROR "Packages are missing: run \"apt-get install ${tapestry_missing}\", or configure with "
                      "-DTAPESTRY_FETCH_DEPENDENCIES=ON to download them.")
endif()

include(${CMAKE_CURRENT_LIST_DIR}/xsimd.cmake)
