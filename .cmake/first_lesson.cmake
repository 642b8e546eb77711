# tapestry_first_lesson(target sources…): a program of a learner's first minutes. It links the object files that it
# needs, not the libraries that they are in, so that a fresh clone builds these and no others: half of the whole. What
# is missing here fails to link. The object files are the libraries' own, by the paths that CMake gives them; Ninja
# alone knows each file's rule, so other generators link the libraries, and so do builds with a sanitizer.
set(tapestry_core_needed
  check/gradcheck check/probe check/report io/file io/restore io/text ops/arithmetic ops/matmul ops/reduce ops/views
  simd/elementwise simd/matmul/matmul simd/optimiser_step simd/random simd/rows/reduce simd/rows/scan simd/runtime/arch
  simd/runtime/memory simd/runtime/threads tape/anomaly tape/append tape/backward tape/extended_pass tape/gradients
  tape/graph tape/hooks tape/print tape/recorder tape/replay tape/tape tensor/array tensor/broadcast tensor/buffer tensor/create
  tensor/error tensor/layout tensor/mask tensor/print tensor/random tensor/tensor)
set(tapestry_nn_needed clone initialise module text/utf8)
set(tapestry_optim_needed optimiser parallel/collectives parallel/communicator sgd)
set(tapestry_kit_needed
  picture/axis picture/canvas picture/chart_svg picture/chart_text picture/graph picture/graph_layout picture/picture
  picture/svg program/files program/options program/output program/progress program/question program/ranks
  program/report program/terminal program/wasm_bridge program/wrap text/utf8)

# Sources that tapestry_join_sources() leaves alone: these, and core's kernels and ops, whose code must not depend on the
# files that they are compiled with. Sanitizers are slow to compile, and their code is not timed: they join all.
set(tapestry_separate_sources "")
if(NOT CMAKE_BUILD_TYPE STREQUAL "Sanitize")
  file(GLOB_RECURSE tapestry_separate_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/core/simd/*.cpp ${PROJECT_SOURCE_DIR}/core/ops/*.cpp ${PROJECT_SOURCE_DIR}/core/attention/*.cpp)
  foreach(library core nn optim kit)
    set(folder ${PROJECT_SOURCE_DIR}/${library})
    if(library STREQUAL "kit")
      set(folder ${PROJECT_SOURCE_DIR}/lessons/kit)
    endif()
    foreach(source IN LISTS tapestry_${library}_needed)
      list(APPEND tapestry_separate_sources ${folder}/${source}.cpp)
    endforeach()
  endforeach()
endif()

function(tapestry_first_lesson target)
  if(CMAKE_BUILD_TYPE STREQUAL "Sanitize" OR NOT CMAKE_GENERATOR STREQUAL "Ninja")
    add_executable(${target} ${ARGN})
    target_link_libraries(${target} PRIVATE tapestry_kit)
    return()
  endif()
  set(objects "")
  foreach(library core nn optim kit)
    set(folder ${PROJECT_BINARY_DIR}/CMakeFiles/tapestry_${library}.dir/${library})
    if(library STREQUAL "kit")
      set(folder ${PROJECT_BINARY_DIR}/lessons/CMakeFiles/tapestry_kit.dir/kit)
    endif()
    foreach(source IN LISTS tapestry_${library}_needed)
      list(APPEND objects ${folder}/${source}.cpp${CMAKE_CXX_OUTPUT_EXTENSION})
    endforeach()
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_executable(${target} ${ARGN} ${objects})
  foreach(what DEFINITIONS OPTIONS FEATURES)  # as of the libraries, which it does not link
    set_property(TARGET ${target} APPEND PROPERTY
      COMPILE_${what} $<TARGET_PROPERTY:tapestry_core,INTERFACE_COMPILE_${what}>)
  endforeach()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_options(${target} PRIVATE $<TARGET_PROPERTY:tapestry_core,INTERFACE_LINK_OPTIONS>)
  target_link_libraries(${target} PRIVATE
    fmt::fmt CLI11::CLI11 nlohmann_json::nlohmann_json utf8proc::utf8proc Threads::Threads)
endfunction()
