# The library utf8proc as the target utf8proc::utf8proc: many systems install it without a CMake package. Read by
# this project's build, and by find_package(Tapestry), since programs that use tapestry::nn link it.
if(NOT TARGET utf8proc::utf8proc)
  find_path(UTF8PROC_INCLUDE_DIR utf8proc.h)
  find_library(UTF8PROC_LIBRARY utf8proc)
  mark_as_advanced(UTF8PROC_INCLUDE_DIR UTF8PROC_LIBRARY)
  if(UTF8PROC_INCLUDE_DIR AND UTF8PROC_LIBRARY)
    add_library(utf8proc::utf8proc UNKNOWN IMPORTED)
    set_target_properties(utf8proc::utf8proc PROPERTIES
      IMPORTED_LOCATION "${UTF8PROC_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${UTF8PROC_INCLUDE_DIR}")
  endif()
endif()
