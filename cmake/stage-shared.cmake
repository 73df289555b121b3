# Copies cargo's shared library to OUTPUT_DIR under its full name and puts the loader's and the linker's links beside
# it. OBJCOPY is a command with its options.
#
# Run with: cmake -DINPUT= -DOUTPUT_DIR= -DFILE_NAME= -DSONAME= -DREADELF= -DOBJCOPY= -P stage-shared.cmake
cmake_minimum_required(VERSION 3.16.3)

# A library with another SONAME would install, and then no existing program would find it.
execute_process(COMMAND "${READELF}" -d "${INPUT}" OUTPUT_VARIABLE dynamic)
if(NOT dynamic MATCHES "SONAME[^\n]*\\[${SONAME}\\]")
  message(FATAL_ERROR "${INPUT} does not carry the SONAME ${SONAME}")
endif()

file(MAKE_DIRECTORY "${OUTPUT_DIR}")
execute_process(COMMAND ${OBJCOPY} "${INPUT}" "${OUTPUT_DIR}/${FILE_NAME}" RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "cannot copy ${INPUT} to ${OUTPUT_DIR}/${FILE_NAME}")
endif()
file(CREATE_LINK "${FILE_NAME}" "${OUTPUT_DIR}/${SONAME}" SYMBOLIC)
string(REGEX REPLACE "[.]so[.].*" ".so" link "${FILE_NAME}")
file(CREATE_LINK "${SONAME}" "${OUTPUT_DIR}/${link}" SYMBOLIC)
