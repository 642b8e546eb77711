# Debian's xsimd names a library "xtl" that it neither needs nor finds; only headers are wanted.
if(TARGET xsimd AND NOT TARGET xtl)
  set_target_properties(xsimd PROPERTIES INTERFACE_LINK_LIBRARIES "")
endif()
