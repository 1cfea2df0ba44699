# What GNNC_SANITIZER and GNNC_BUILD_FUZZERS add to all of gnnc's own code. LLVM is not instrumented: a check of virtual
# tables would ask for type information that it lacks. Neither is the runtime inside compiled models, which programs
# without a sanitizer load too (lib/Runtime/CMakeLists.txt).
set(gnnc_sanitizer_flags "")
if(GNNC_SANITIZER STREQUAL "address")
  list(APPEND gnnc_sanitizer_flags -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined)
elseif(GNNC_SANITIZER STREQUAL "thread")
  list(APPEND gnnc_sanitizer_flags -fsanitize=thread)
elseif(GNNC_SANITIZER)
  message(FATAL_ERROR "GNNC_SANITIZER: expected address, thread or nothing, found '${GNNC_SANITIZER}'")
endif()
if(gnnc_sanitizer_flags)
  add_compile_options(${gnnc_sanitizer_flags} -fno-omit-frame-pointer)
  add_link_options(${gnnc_sanitizer_flags})
endif()
if(GNNC_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
