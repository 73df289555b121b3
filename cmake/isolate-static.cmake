# Makes a static library of which only the public functions can be seen.
#
# Cargo's archive also holds LZ4, Zstd, zlib and the Rust runtime as global symbols: a program that links its own copy
# of any of these would get "multiple definition" errors, or silently the wrong copy. So everything that the public
# functions reach is linked into one relocatable object, and every other name in it is made local.
#
# OBJCOPY is a command with its options. Run with:
# cmake -DSHARED= -DINPUT= -DOUTPUT= -DWORK_DIR= -DCC= -DNM= -DOBJCOPY= -DAR= -P isolate-static.cmake
cmake_minimum_required(VERSION 3.16.3)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status ERROR_VARIABLE errors OUTPUT_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}${errors}")
  endif()
  set(run_output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")

# The public functions are those that the shared library exports. The archive itself is no place to ask: rustc leaves
# its bitcode beside the machine code, and where LLVM is installed nm reads that in place of the symbols.
run("${NM}" --dynamic --defined-only --format=posix "${SHARED}")
string(REGEX MATCHALL "(^|\n)(blosc1|blosc2|blosc|b2nd|oxiblosc)_[A-Za-z0-9_]+ " symbols "${run_output}")
list(TRANSFORM symbols STRIP)
if(NOT symbols)
  message(FATAL_ERROR "${SHARED} exports no public function")
endif()
list(JOIN symbols "\n" text)
file(WRITE "${WORK_DIR}/public.txt" "${text}\n")

# Sections that no public function reaches are dropped. The names go through a response file: they are many.
list(TRANSFORM symbols PREPEND "-Wl,--undefined=")
list(JOIN symbols "\n" text)
file(WRITE "${WORK_DIR}/roots.txt" "${text}\n")
run("${CC}" -nostdlib -r -Wl,--gc-sections "@${WORK_DIR}/roots.txt" "${INPUT}" -o "${WORK_DIR}/all.o")
get_filename_component(object "${OUTPUT}" NAME_WE)
string(REGEX REPLACE "^lib" "${WORK_DIR}/" object "${object}.o")
run(${OBJCOPY} "--keep-global-symbols=${WORK_DIR}/public.txt" --remove-section=.llvmbc --remove-section=.llvmcmd
  "${WORK_DIR}/all.o" "${object}")

get_filename_component(folder "${OUTPUT}" DIRECTORY)
file(MAKE_DIRECTORY "${folder}")
file(REMOVE "${OUTPUT}")
run("${AR}" rcs "${OUTPUT}" "${object}")
