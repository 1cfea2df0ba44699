# Runs a test's cases for GPUs on the stand-ins of NVIDIA's libraries, whose kernels run on the host:
#
#   cmake -DTEST=... -DFILTER=... -DFORMS=... -DFOLDER=... -DNVRTC=... -DREPLAY=... -P Emulate.cmake
#
# TEST (a GoogleTest program) writes the cases of FILTER to FOLDER, of the FORMS that DeviceCases.h names; REPLAY compares
# them. Nothing is taken from an earlier run.
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env --unset=GTEST_OUTPUT GNNC_DEVICE_CASES=${FOLDER} GNNC_DEVICE_FORMS=${FORMS}
    GNNC_NVRTC=${NVRTC} XDG_CACHE_HOME=${FOLDER}/cache TMPDIR=${FOLDER} ${TEST} --gtest_filter=${FILTER} --gtest_brief=1
  RESULT_VARIABLE status)
file(GLOB cases "${FOLDER}/*.case")
if(status OR NOT cases)
  message(FATAL_ERROR "no cases of ${FILTER}: ${status}")
endif()
# Few processors, as graphs are small.
execute_process(COMMAND ${CMAKE_COMMAND} -E env GNNC_STAND_IN=processors=4 ${REPLAY} ${cases} RESULT_VARIABLE status)
if(status)
  message(FATAL_ERROR "the GPU's numbers are not the interpreter's (${status})")
endif()
file(REMOVE_RECURSE "${FOLDER}")
