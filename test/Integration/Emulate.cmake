# Runs a test's recorded cases (DeviceCases.h) where no such device is: cases for GPUs on the stand-ins of NVIDIA's
# libraries, whose kernels run on the host, and cases for processors under an emulator.
#
#   cmake -DTEST=... -DFILTER=... -DFORMS=... -DFOLDER=... -DENVIRONMENT=... -DREPLAY=... [-DAGAIN=...] -P Emulate.cmake
#
# TEST (a GoogleTest program) writes the cases of FILTER to FOLDER, of the FORMS that DeviceCases.h names, with settings of
# ENVIRONMENT; the command REPLAY compares them, and then AGAIN. Nothing is taken from an earlier run. Where TEST skips all
# of FILTER, since files are missing, this says SKIPPED and why.
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env --unset=GTEST_OUTPUT GNNC_DEVICE_CASES=${FOLDER} GNNC_DEVICE_FORMS=${FORMS}
    ${ENVIRONMENT} XDG_CACHE_HOME=${FOLDER}/cache TMPDIR=${FOLDER} ${TEST} --gtest_filter=${FILTER} --gtest_brief=1
  RESULT_VARIABLE status OUTPUT_VARIABLE output ECHO_OUTPUT_VARIABLE)
file(GLOB cases "${FOLDER}/*.case")
if(NOT status AND NOT cases AND output MATCHES "Skipped\n(no [^\n]*)")
  message("SKIPPED: ${CMAKE_MATCH_1}")
  file(REMOVE_RECURSE "${FOLDER}")
  return()
endif()
if(status OR NOT cases)
  message(FATAL_ERROR "no cases of ${FILTER}: ${status}")
endif()
foreach(command REPLAY AGAIN)
  if(${command})
    execute_process(COMMAND ${${command}} ${cases} RESULT_VARIABLE status)
    if(status)
      message(FATAL_ERROR "the device's numbers are not the interpreter's (${status}): ${${command}}")
    endif()
  endif()
endforeach()
file(REMOVE_RECURSE "${FOLDER}")
