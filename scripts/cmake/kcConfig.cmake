# find_package(kc) for projects that call kernels from C or C++:
#
#   kc_add_kernels(TARGET FILE.py... [CHECKED] [NO_BACKWARD] [CPU NAME] [OPTIONS ARGUMENT...] [DEPENDS FILE...])
#
# makes the library TARGET of the kernels in these files, and their headers (FILE.h), which every target that links TARGET can include. CHECKED: an
# index out of bounds is reported in kc_status instead of being followed. DEPENDS: files that the kernels import. KC_PROGRAM names kc where it is not
# beside this package or in PATH.
cmake_minimum_required(VERSION 3.16)

find_program(KC_PROGRAM kc HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../bin")
if(NOT KC_PROGRAM)
  set(kc_FOUND FALSE)
  set(kc_NOT_FOUND_MESSAGE "the program kc was not found: set KC_PROGRAM, or CMAKE_PREFIX_PATH to the folder that kc was unpacked in")
  return()
endif()
find_package(Threads REQUIRED)

function(kc_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 kc "CHECKED;NO_BACKWARD" "CPU" "OPTIONS;DEPENDS")
  if(NOT kc_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kc_add_kernels(${target}): no file is given")
  endif()
  set(options ${kc_OPTIONS})
  if(kc_CHECKED)
    list(APPEND options --checked)
  endif()
  if(kc_NO_BACKWARD)
    list(APPEND options --no-backward)
  endif()
  if(kc_CPU)
    list(APPEND options --cpu ${kc_CPU})
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  file(MAKE_DIRECTORY "${folder}")
  set(written)
  foreach(source IN LISTS kc_UNPARSED_ARGUMENTS)
    get_filename_component(source "${source}" ABSOLUTE)
    get_filename_component(name "${source}" NAME_WE)
    add_custom_command(
      OUTPUT "${folder}/${name}.o" "${folder}/${name}.h" "${folder}/${name}.json"
      COMMAND "${KC_PROGRAM}" compile "${source}" --emit obj,header,meta -q -o "${folder}" ${options}
      DEPENDS "${source}" ${kc_DEPENDS}
      COMMENT "Compiling the kernels of ${name}.py"
      VERBATIM)
    list(APPEND written "${folder}/${name}.o" "${folder}/${name}.h")
  endforeach()
  # A header that is a source makes what includes it wait until it is written.
  add_library(${target} STATIC ${written})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  target_include_directories(${target} INTERFACE "${folder}")
  target_link_libraries(${target} INTERFACE Threads::Threads m)
endfunction()
