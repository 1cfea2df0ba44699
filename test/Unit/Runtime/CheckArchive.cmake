# What models take of the runtime may need nothing but the C library, and is no more than they ask for.
#   cmake -DCXX=... -DLLD=... -DNM=... -DSIZE=... -DARCHIVE=... -DINCLUDE=... -P CheckArchive.cmake

# Bytes of code, constants and data of an empty model that needs so much of the runtime.
set(mostPlain 77500)
set(mostCUDA 126000)
set(mostRanks 85500)
set(mostAll 137000)

get_filename_component(directory "${ARCHIVE}" DIRECTORY)
set(directory "${directory}/linked")
file(MAKE_DIRECTORY "${directory}")
foreach(model Plain CUDA Ranks All)
  set(defines "")
  if(model MATCHES "CUDA|All")
    list(APPEND defines -DHAS_CUDA)
  endif()
  if(model MATCHES "Ranks|All")
    list(APPEND defines -DHAS_RANKS)
  endif()
  set(shared "${directory}/${model}.so")
  execute_process(COMMAND "${CXX}" -std=c++20 -fPIC "-I${INCLUDE}" ${defines}
                          -c "${CMAKE_CURRENT_LIST_DIR}/LinkedModel.cpp" -o "${directory}/${model}.o"
                  COMMAND_ERROR_IS_FATAL ANY)
  # As SharedObject.cpp links.
  execute_process(COMMAND "${LLD}" -shared -u gnnc_model --gc-sections -O1 "${directory}/${model}.o" "${ARCHIVE}"
                          -o "${shared}" COMMAND_ERROR_IS_FATAL ANY)

  execute_process(COMMAND "${NM}" --undefined-only --dynamic --format=posix "${shared}" OUTPUT_VARIABLE undefined
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${NM}" --defined-only --format=posix "${shared}" OUTPUT_VARIABLE defined
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" undefined "${undefined}")
  foreach(line IN LISTS undefined)
    string(REGEX REPLACE " .*" "" symbol "${line}")
    if(symbol MATCHES "^_Z|^gnnc|^__cxa|^__gxx|^_Unwind|^__(aarch64|cpu)_|^__.*ti[0-9]$")
      message(SEND_ERROR "${model}: the runtime needs '${symbol}', which the C library does not have")
    endif()
  endforeach()
  if(NOT defined MATCHES "(^|\n)gnnc_model T")
    message(SEND_ERROR "${model}: the runtime does not define gnnc_model")
  endif()
  if(defined MATCHES "_GLOBAL__sub_I")
    message(SEND_ERROR "${model}: the runtime has a constructor")
  endif()

  execute_process(COMMAND "${SIZE}" --format=berkeley "${shared}" OUTPUT_VARIABLE sizes COMMAND_ERROR_IS_FATAL ANY)
  if(NOT sizes MATCHES "\n *([0-9]+)[ \t]+([0-9]+)[ \t]+([0-9]+)")
    message(FATAL_ERROR "${model}: no sizes in '${sizes}'")
  endif()
  math(EXPR size "${CMAKE_MATCH_1} + ${CMAKE_MATCH_2}")
  message(STATUS "${model}: ${size} bytes")
  if(size GREATER "${most${model}}")
    message(SEND_ERROR "${model}: the runtime takes ${size} bytes: expected at most ${most${model}}")
  endif()
endforeach()
