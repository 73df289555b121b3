# libblosc.so.1, the library of Blosc 1, beside libblosc2; included by CMakeLists.txt.
#
#   <libdir>/libblosc.so.1.21.6, libblosc.so.1, libblosc.so      <libdir>/libblosc.a
#   <includedir>/{blosc.h,blosc-export.h}
#   <libdir>/pkgconfig/blosc.pc                                  <libdir>/cmake/Blosc/Blosc{Config,ConfigVersion}.cmake

# The release of c-blosc whose functions these are: the version of the crate.
file(STRINGS "${OXIBLOSC_ROOT}/crates/blosc1/Cargo.toml" blosc1_manifest REGEX "^version = \"[0-9.]+\"$" LIMIT_COUNT 1)
string(REGEX REPLACE "^version = \"([0-9.]+)\"$" "\\1" BLOSC1_VERSION "${blosc1_manifest}")
set(blosc1_file "libblosc.so.${BLOSC1_VERSION}")
set(blosc1_soname "libblosc.so.1")

# By itself: together with libblosc2, cargo would build the crates that both use with what only this one needs of them.
add_cargo_target(cargo_build_blosc1 "${cargo_output}/libblosc.so" "${cargo_output}/libblosc.a" COMMAND build -p oxiblosc-blosc1 --lib)
add_dependencies(cargo_build_blosc1 cargo_library)

add_custom_command(
  OUTPUT "${staging}/${blosc1_file}"
  COMMAND "${CMAKE_COMMAND}"
          "-DINPUT=${cargo_output}/libblosc.so" "-DOUTPUT_DIR=${staging}" "-DFILE_NAME=${blosc1_file}"
          "-DSONAME=${blosc1_soname}" "-DREADELF=${CMAKE_READELF}" "-DOBJCOPY=${CMAKE_OBJCOPY};${strip_shared}"
          -P "${CMAKE_CURRENT_SOURCE_DIR}/stage-shared.cmake"
  DEPENDS cargo_build_blosc1 "${cargo_output}/libblosc.so" "${CMAKE_CURRENT_SOURCE_DIR}/stage-shared.cmake"
  COMMENT "Naming the shared library ${blosc1_file}"
  VERBATIM)

add_custom_command(
  OUTPUT "${staging}/libblosc.a"
  COMMAND "${CMAKE_COMMAND}"
          "-DSHARED=${cargo_output}/libblosc.so" "-DINPUT=${cargo_output}/libblosc.a"
          "-DOUTPUT=${staging}/libblosc.a"
          "-DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR}/isolate-blosc1" "-DCC=${CMAKE_C_COMPILER}" "-DNM=${CMAKE_NM}"
          "-DOBJCOPY=${CMAKE_OBJCOPY};${strip_debug}" "-DAR=${CMAKE_AR}"
          -P "${CMAKE_CURRENT_SOURCE_DIR}/isolate-static.cmake"
  DEPENDS cargo_build_blosc1 "${cargo_output}/libblosc.a" "${CMAKE_CURRENT_SOURCE_DIR}/isolate-static.cmake"
  COMMENT "Hiding all but the public symbols of libblosc.a"
  VERBATIM)

add_custom_target(oxiblosc_blosc1 ALL DEPENDS "${staging}/${blosc1_file}" "${staging}/libblosc.a")

install(FILES "${staging}/${blosc1_file}" "${staging}/${blosc1_soname}" "${staging}/libblosc.so"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}" PERMISSIONS ${library_permissions} COMPONENT LIB)
install(FILES "${staging}/libblosc.a" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT DEV)
install(FILES "${OXIBLOSC_ROOT}/crates/blosc1/include/blosc.h" "${OXIBLOSC_ROOT}/crates/blosc1/include/blosc-export.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT DEV)

set(blosc1_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Blosc")
configure_package_config_file(BloscConfig.cmake.in BloscConfig.cmake
  INSTALL_DESTINATION "${blosc1_package_dir}" PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(BloscConfigVersion.cmake VERSION "${BLOSC1_VERSION}" COMPATIBILITY SameMajorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/BloscConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/BloscConfigVersion.cmake"
  DESTINATION "${blosc1_package_dir}" COMPONENT DEV)
configure_file(blosc.pc.in blosc.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/blosc.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT DEV)
