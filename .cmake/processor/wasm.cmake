# WebAssembly: registers of 128 bits, exceptions of the engine's own (those made of JavaScript calls cannot carry a
# register through), one thread.
set(TAPESTRY_PORTABLE_SIMD ON)
set(TAPESTRY_ARCH_NAME wasm-simd128)
set(flags -msimd128)
if(PROJECT_IS_TOP_LEVEL)
  add_compile_options(-fwasm-exceptions)  # whatever throws, packages too
  add_link_options(-fwasm-exceptions -sALLOW_MEMORY_GROWTH=1 -sEXIT_RUNTIME=1)
else()
  list(APPEND flags -fwasm-exceptions)
endif()
