# Part of CMakeLists.txt: what is installed on Windows. The symbols of the static library are not hidden there: a COFF archive keeps
# more than one definition of what the Rust runtime has, which linking into one object would not.
add_custom_command(
  OUTPUT "${staging}/${shared_file}" "${staging}/${shared_import}" "${staging}/libblosc2.a"
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${staging}"
  COMMAND "${CMAKE_OBJCOPY}" ${strip_debug} "${cargo_shared}" "${staging}/${shared_file}"
  COMMAND "${CMAKE_COMMAND}" -E copy "${cargo_output}/${shared_import}" "${staging}/${shared_import}"
  COMMAND "${CMAKE_COMMAND}" -E copy "${cargo_output}/libblosc2.a" "${staging}/libblosc2.a"
  DEPENDS cargo_library "${cargo_shared}" "${cargo_output}/libblosc2.a"
  COMMENT "Naming the libraries as the reference's"
  VERBATIM)
