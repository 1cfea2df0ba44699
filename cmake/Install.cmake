# What `cmake --install` installs, and the package that find_package(gnnc) finds. Included last, when all targets are known.
#
# gnnc has an export set of its own: LLVM's and MLIR's stay what the consumer's find_package finds.

include(CMakePackageConfigHelpers)

get_property(gnnc_libraries GLOBAL PROPERTY GNNC_LIBRARIES)
get_property(gnnc_tools GLOBAL PROPERTY GNNC_TOOLS)
set(gnnc_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/gnnc")
# The dialects' headers are included as "dialects/...", a name too common for a shared include directory.
set(gnnc_dialects_dir "${CMAKE_INSTALL_INCLUDEDIR}/gnnc-dialects")

foreach(library IN LISTS gnnc_libraries)
  target_include_directories(${library} INTERFACE
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>" "$<INSTALL_INTERFACE:${gnnc_dialects_dir}>")
  target_compile_features(${library} INTERFACE cxx_std_20)
endforeach()

# For programs that run compiled models: one C header, and neither LLVM nor any of the libraries.
add_library(abi INTERFACE)
target_include_directories(abi INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")

install(TARGETS abi EXPORT gnncABITargets)
install(TARGETS ${gnnc_libraries} EXPORT gnncTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
# The tools find LLVM's shared libraries where the build found them.
set_target_properties(${gnnc_tools} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS ${gnnc_tools} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
# What the tools load when they are ranks of a run: they look there, wherever other libraries are. As they were built,
# with the way to MPI in them.
foreach(library gnnc_mpi gnnc_nccl)
  if(TARGET ${library})
    install(FILES "$<TARGET_FILE:${library}>" DESTINATION lib)
  endif()
endforeach()

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
install(DIRECTORY "${PROJECT_BINARY_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h.inc" PATTERN "Version.h" PATTERN "CMakeFiles" EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/dialects" DESTINATION "${gnnc_dialects_dir}"
        FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "Derivatives" EXCLUDE)
install(DIRECTORY "${PROJECT_BINARY_DIR}/dialects" DESTINATION "${gnnc_dialects_dir}"
        FILES_MATCHING PATTERN "*.h.inc" PATTERN "CMakeFiles" EXCLUDE PATTERN "*.dir" EXCLUDE)

# The compiler has the standard library inside; these are to read.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/lib/Frontend/std" DESTINATION "${CMAKE_INSTALL_DATADIR}/gnnc"
        FILES_MATCHING PATTERN "*.gnn")
# What --emit=cuda prints includes these.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/lib/Target/CUDA/Kernels/" DESTINATION "${CMAKE_INSTALL_DATADIR}/gnnc/cuda"
        FILES_MATCHING PATTERN "*.cuh")
install(FILES "${PROJECT_SOURCE_DIR}/include/gnnc/ModelFormat/DeviceData.h" DESTINATION "${CMAKE_INSTALL_DATADIR}/gnnc/cuda")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/gnnc")
install(FILES "${PROJECT_SOURCE_DIR}/docs/model.schema.json" DESTINATION "${CMAKE_INSTALL_DATADIR}/gnnc" OPTIONAL)

install(EXPORT gnncABITargets NAMESPACE gnnc:: DESTINATION "${gnnc_package_dir}")
install(EXPORT gnncTargets NAMESPACE gnnc:: DESTINATION "${gnnc_package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/gnncConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/cmake/gnncConfig.cmake"
  INSTALL_DESTINATION "${gnnc_package_dir}"
  PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/gnncConfigVersion.cmake"
  VERSION "${PROJECT_VERSION}" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/cmake/gnncConfig.cmake" "${PROJECT_BINARY_DIR}/cmake/gnncConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/FindLibZip.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindMETIS.cmake"
        DESTINATION "${gnnc_package_dir}")
