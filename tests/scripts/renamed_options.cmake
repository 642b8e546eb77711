# Old names of build options: cmake -P tests/scripts/renamed_options.cmake
function(given name value type)
  set(${name} "${value}" CACHE STRING "" FORCE)
  set_property(CACHE ${name} PROPERTY TYPE ${type})
endfunction()

function(expect name value)
  if(NOT "${${name}}" STREQUAL "${value}")
    message(FATAL_ERROR "${name} must be \"${value}\", got \"${${name}}\"")
  endif()
endfunction()

set(file ${CMAKE_CURRENT_LIST_DIR}/../../.cmake/renamed_options.cmake)

given(TAPESTRY_TESTS OFF UNINITIALIZED)  # -DTAPESTRY_TESTS=OFF, the first time
given(TAPESTRY_FETCH ON UNINITIALIZED)
include(${file})
expect(TAPESTRY_BUILD_TESTS OFF)
expect(TAPESTRY_FETCH_DEPENDENCIES ON)
expect(TAPESTRY_TESTS "")

given(TAPESTRY_TESTS ON UNINITIALIZED)  # and another time, with another value
include(${file})
expect(TAPESTRY_BUILD_TESTS ON)

given(TAPESTRY_TESTS OFF BOOL)  # from the cache of a build from before: the new name counts
include(${file})
expect(TAPESTRY_BUILD_TESTS ON)
given(TAPESTRY_WERROR ON BOOL)  # … unless it was never given
include(${file})
expect(TAPESTRY_WARNINGS_AS_ERRORS ON)

set(TAPESTRY_LESSONS OFF)  # a variable of a project around ours
include(${file})
expect(TAPESTRY_BUILD_LESSONS OFF)
