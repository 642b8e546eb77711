# tapestry_join_sources(target): with TAPESTRY_JOIN_SOURCES, compiles the sources of the target as one file, in a fifth of
# the time. CMake leaves out sources that have compile options of their own, such as the kernels.
function(tapestry_join_sources target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TAPESTRY_JOIN_SOURCES} UNITY_BUILD_BATCH_SIZE 0)
endfunction()

# tapestry_add_library(name PUBLIC targets… [PRIVATE targets…] [FLAGS options…]): the library tapestry::name from every
# .cpp below the folder. PUBLIC and PRIVATE are those of target_link_libraries(); FLAGS compile the sources.
function(tapestry_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PUBLIC;PRIVATE;FLAGS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/mpi/")  # a library of its own, below
  set(target tapestry_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    target_compile_options(${target} PRIVATE ${TAPESTRY_WARNINGS} ${arg_FLAGS})
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
    tapestry_join_sources(${target})
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(tapestry::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                $<INSTALL_INTERFACE:include/tapestry>)
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>  # <tapestry/core/…>
                                                 $<INSTALL_INTERFACE:include>)
  target_link_libraries(${target} ${scope} ${arg_PUBLIC})
  string(TOUPPER ${name} upper)
  set(TAPESTRY_${upper}_SCOPE ${scope} PARENT_SCOPE)
endfunction()

# tapestry_mpi: ranks under MPI, for the programs that link it; not installed. Where there is no MPI it gives one rank.
function(tapestry_mpi_library)
  if(NOT CMAKE_CROSSCOMPILING)
    set(MPI_CXX_SKIP_MPICXX ON)
    find_package(MPI COMPONENTS CXX QUIET)
  endif()
  add_library(tapestry_mpi STATIC ${PROJECT_SOURCE_DIR}/optim/parallel/mpi/mpi.cpp)
  target_link_libraries(tapestry_mpi PUBLIC tapestry_optim)
  target_compile_options(tapestry_mpi PRIVATE ${TAPESTRY_WARNINGS} ${TAPESTRY_NON_KERNEL_FLAGS})
  if(MPI_CXX_FOUND)
    target_link_libraries(tapestry_mpi PRIVATE MPI::MPI_CXX)
    target_compile_definitions(tapestry_mpi PRIVATE TAPESTRY_MPI)
    set(TAPESTRY_MPIRUN ${MPIEXEC_EXECUTABLE} PARENT_SCOPE)
  endif()
endfunction()
