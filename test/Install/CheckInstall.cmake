# Run by ctest; see CMakeLists.txt.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(build name source)
  run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${source}" -B "${WORK}/${name}" "-DCMAKE_PREFIX_PATH=${prefix}"
      "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" ${ARGN})
  run("${CMAKE_COMMAND}" --build "${WORK}/${name}")
endfunction()

set(prefix "${WORK}/prefix")
file(REMOVE_RECURSE "${prefix}" "${WORK}/tracking" "${WORK}/embed" "${WORK}/graphs")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")

# Nothing installed may lead back to where it was built.
file(GLOB_RECURSE texts "${prefix}/lib/cmake/*" "${prefix}/include/*.h" "${prefix}/include/*.td")
foreach(text IN LISTS texts)
  file(READ "${text}" content)
  foreach(place "${BUILD}" "${SOURCE}/")
    string(REPLACE "${prefix}" "" content "${content}")
    string(FIND "${content}" "${place}" found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "${text} names ${place}")
    endif()
  endforeach()
endforeach()

# The compiler as a library, and as a program in another project's build.
build(embed "${SOURCE}/examples/embed")
run("${WORK}/embed/embed" "${SOURCE}/examples/gcn/model.gnn" "${WORK}/embed/library.so")
run("${CMAKE_COMMAND}" -E compare_files "${WORK}/embed/library.so" "${WORK}/embed/program.so")

# Parts of the library that need more than the compiler does.
file(WRITE "${WORK}/graphs-source/CMakeLists.txt" "cmake_minimum_required(VERSION 3.20)
project(graphs CXX)
find_package(gnnc REQUIRED COMPONENTS compiler)
add_executable(graphs Main.cpp)
target_compile_features(graphs PRIVATE cxx_std_20)
target_link_libraries(graphs PRIVATE gnnc::GNNCGraphs LLVM)
")
file(WRITE "${WORK}/graphs-source/Main.cpp" "#include \"gnnc/Graphs/Partition.h\"
#include \"gnnc/Graphs/NodeOrder.h\"
int main() { return gnnc::parsePartitionKind(\"metis\") && gnnc::parseNodeOrderKind(\"rcm\") ? 0 : 1; }
")
build(graphs "${WORK}/graphs-source")
run("${WORK}/graphs/graphs")

# A program that runs a model needs the header alone.
build(tracking "${SOURCE}/examples/tracking" "-DGNNC=${prefix}/bin/gnnc" "-DGNNC_INCLUDE=${prefix}/include")
run("${WORK}/tracking/tracking")
if(NOT output MATCHES "event 7: [0-9]+ hits")
  message(FATAL_ERROR "tracking printed: ${output}")
endif()
