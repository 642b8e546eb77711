# Build options that have new names. The old ones keep working for one release, with a deprecation message.
foreach(pair LESSONS:BUILD_LESSONS TESTS:BUILD_TESTS BENCH:BUILD_BENCHMARKS FUZZ:BUILD_FUZZERS
             WERROR:WARNINGS_AS_ERRORS FETCH:FETCH_DEPENDENCIES)
  string(REPLACE ":" ";TAPESTRY_" pair "TAPESTRY_${pair}")
  list(GET pair 0 old)
  list(GET pair 1 new)
  if(NOT DEFINED ${old})
    continue()
  endif()
  # The cache of a build from before the renaming has the old option with a type; -D on the command line gives none,
  # and is what was asked for now.
  get_property(type CACHE ${old} PROPERTY TYPE)
  if(type STREQUAL "UNINITIALIZED" OR NOT type)
    message(DEPRECATION "${old} is now called ${new}; the old name works until the next release.")
    set(${new} "${${old}}" CACHE STRING "" FORCE)
  elseif(NOT DEFINED ${new})
    set(${new} "${${old}}" CACHE STRING "")
  endif()
  unset(${old} CACHE)
endforeach()
