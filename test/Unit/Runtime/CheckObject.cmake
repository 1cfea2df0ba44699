# The object that goes into every model may need nothing but the C library and what the compiler writes.
#   cmake -DNM=... -DOBJECT=... -P CheckObject.cmake

execute_process(COMMAND "${NM}" --undefined-only --format=posix "${OBJECT}" OUTPUT_VARIABLE undefined
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${NM}" --defined-only --format=posix "${OBJECT}" OUTPUT_VARIABLE defined
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" undefined "${undefined}")
foreach(line IN LISTS undefined)
  string(REGEX REPLACE " .*" "" symbol "${line}")
  if(symbol MATCHES "^_Z|^__cxa|^__gxx|^_Unwind|^__(aarch64|cpu)_|^__.*ti[0-9]$")
    message(SEND_ERROR "the runtime needs '${symbol}', which the C library does not have")
  endif()
endforeach()
if(NOT defined MATCHES "(^|\n)gnnc_model T")
  message(SEND_ERROR "the runtime does not define gnnc_model")
endif()
if(defined MATCHES "_GLOBAL__sub_I")
  message(SEND_ERROR "the runtime has a constructor")
endif()
# With the part for GPUs, which the linker leaves out of models without code for them; about half of it are relocations
# and names, which no model has.
file(SIZE "${OBJECT}" size)
if(size GREATER 262144)
  message(SEND_ERROR "the runtime's object has ${size} bytes: expected at most 262144")
endif()
