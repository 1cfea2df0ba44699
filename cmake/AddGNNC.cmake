# Functions for gnnc's own targets.

# add_gnnc_library(NAME sources... [LINK_LIBS libs...] [MLIR] [DEPENDS targets...])
#   A static library that links LLVM (and with MLIR also MLIR) as shared libraries. MLIR libraries share one precompiled
#   header, and all others another: headers of LLVM, MLIR and the standard library take most of the time of a unit.
function(add_gnnc_library name)
  cmake_parse_arguments(ARG "MLIR" "" "LINK_LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} LLVM)
  if(ARG_MLIR)
    target_link_libraries(${name} PUBLIC MLIR)
    gnnc_use_pch(${name} "${GNNC_MLIR_PCH}")
  else()
    gnnc_use_pch(${name} "${GNNC_PCH}")
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY GNNC_LIBRARIES ${name})
endfunction()

set(GNNC_PCH "${CMAKE_SOURCE_DIR}/include/gnnc/Support/Precompiled.h")
set(GNNC_MLIR_PCH "${CMAKE_SOURCE_DIR}/include/gnnc/Support/MLIRPrecompiled.h")

# gnnc_use_pch(target header): a precompiled header; the first target to ask builds it. Programs are compiled as libraries
# are, for else they could not share one.
function(gnnc_use_pch target header)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)
  get_property(owner GLOBAL PROPERTY "GNNC_PCH_OWNER_${header}")
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE "${header}")
    set_property(GLOBAL PROPERTY "GNNC_PCH_OWNER_${header}" ${target})
  endif()
endfunction()

# add_gnnc_tool(NAME sources... [LINK_LIBS libs...] [MLIR])
function(add_gnnc_tool name)
  cmake_parse_arguments(ARG "MLIR" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} LLVM)
  if(ARG_MLIR)
    target_link_libraries(${name} PRIVATE MLIR)
    gnnc_use_pch(${name} "${GNNC_MLIR_PCH}")
  else()
    gnnc_use_pch(${name} "${GNNC_PCH}")
  endif()
  set_property(GLOBAL APPEND PROPERTY GNNC_TOOLS ${name})
endfunction()

# add_gnnc_unittest(NAME sources... [LINK_LIBS libs...] [MLIR]): a GoogleTest program, run by ctest.
function(add_gnnc_unittest name)
  cmake_parse_arguments(ARG "MLIR" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} LLVM GTest::gtest_main)
  if(ARG_MLIR)
    target_link_libraries(${name} PRIVATE MLIR)
    gnnc_use_test_pch(${name} MLIRPrecompiled.h)
  else()
    gnnc_use_test_pch(${name} Precompiled.h)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/test/bin")
  add_test(NAME ${name} COMMAND ${name})
  set_property(GLOBAL APPEND PROPERTY GNNC_UNITTESTS ${name})
endfunction()

# gnnc_use_test_pch(target header): a precompiled header for tests and their libraries, in test/. They take -O1 where all
# else is optimised for speed. With -O0 the libraries would get slow, too: inline functions that both have are the tests'.
function(gnnc_use_test_pch target header)
  if(CMAKE_CXX_FLAGS_RELEASE MATCHES "-O[23]")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  target_link_libraries(${target} PRIVATE GTest::gtest) # its definitions
  gnnc_use_pch(${target} "${CMAKE_SOURCE_DIR}/test/${header}")
endfunction()
