# find_package(kc) for projects that call kernels from C or C++:
#
#   kc_add_kernels(TARGET FILE.py... [CHECKED] [NO_BACKWARD] [EXPORT] [CPU NAME] [PREFIX TEXT] [NAMESPACE NAME]
#                  [OPTIONS ARGUMENT...] [DEPENDS FILE...])
#
# makes the library TARGET of the kernels in these files, and their headers (FILE.h), which every target that links
# TARGET can include. It is built again when a file changes, or one that it imports, or kc.
#
# CHECKED     an index out of bounds is reported in kc_status instead of being followed
# EXPORT      a shared library that TARGET is linked into shows the kernels' entries
# CPU         for another processor; without it, where CMake compiles for another machine, a level of that machine
# PREFIX      a text in front of the names of kernels and structs; files of one name in two folders get the folder's
#             name and `_`, and their headers are FOLDER/FILE.h
# NAMESPACE   the C++ namespace of the headers, for all files; without it each header has one named after its file
# DEPENDS     more files that the kernels depend on
#
#   kc_install_kernels(TARGET [EXPORT NAME])
#
# installs that library and its headers, with `install(EXPORT NAME)` for projects that call its kernels from there:
# these need Threads (`find_dependency(Threads)`), and nothing of kc.
#
# KC_PROGRAM names kc where it is not beside this package or in PATH.
cmake_minimum_required(VERSION 3.16)

find_program(KC_PROGRAM kc HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../bin")
if(NOT KC_PROGRAM)
  set(kc_FOUND FALSE)
  set(kc_NOT_FOUND_MESSAGE "the program kc was not found: set KC_PROGRAM, or CMAKE_PREFIX_PATH to the folder that kc was unpacked in")
  return()
endif()
find_package(Threads REQUIRED)

function(kc_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 kc "CHECKED;NO_BACKWARD;EXPORT" "CPU;PREFIX;NAMESPACE" "OPTIONS;DEPENDS")
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
  if(kc_EXPORT)
    list(APPEND options --export)
  endif()
  if(kc_CPU)
    list(APPEND options --cpu ${kc_CPU})
  elseif(CMAKE_CROSSCOMPILING)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
      list(APPEND options --cpu aarch64)
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
      list(APPEND options --cpu x86-64)
    else()
      message(FATAL_ERROR "kc_add_kernels(${target}): kc has no code for CMAKE_SYSTEM_PROCESSOR ${CMAKE_SYSTEM_PROCESSOR}")
    endif()
  endif()
  if(DEFINED kc_NAMESPACE)
    list(APPEND options --namespace "${kc_NAMESPACE}")
  endif()
  set(top "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  set(names)
  foreach(source IN LISTS kc_UNPARSED_ARGUMENTS)
    get_filename_component(name "${source}" NAME)
    list(APPEND names "${name}")
  endforeach()
  set(written)
  foreach(source IN LISTS kc_UNPARSED_ARGUMENTS)
    get_filename_component(source "${source}" ABSOLUTE)
    get_filename_component(file "${source}" NAME)
    # CMake before 3.14 has no NAME_WLE; a name may have more dots.
    string(REGEX REPLACE "\\.[^.]*$" "" name "${file}")
    set(folder "${top}")
    set(prefix "${kc_PREFIX}")
    list(LENGTH names all)
    set(others "${names}")
    list(REMOVE_ITEM others "${file}")
    list(LENGTH others different)
    math(EXPR same "${all} - ${different}")
    if(same GREATER 1)
      get_filename_component(parent "${source}" DIRECTORY)
      get_filename_component(parent "${parent}" NAME)
      set(folder "${top}/${parent}")
      string(MAKE_C_IDENTIFIER "${parent}_" parent)
      set(prefix "${kc_PREFIX}${parent}")
    endif()
    file(MAKE_DIRECTORY "${folder}")
    set(named)
    if(NOT prefix STREQUAL "")
      set(named --prefix "${prefix}")
    endif()
    set(depfile)
    if(NOT CMAKE_VERSION VERSION_LESS 3.20 OR CMAKE_GENERATOR MATCHES "Ninja")
      set(depfile DEPFILE "${folder}/${name}.d")
    endif()
    add_custom_command(
      OUTPUT "${folder}/${name}.o" "${folder}/${name}.h" "${folder}/${name}.json"
      COMMAND "${KC_PROGRAM}" compile "${source}" --emit obj,header,meta -q -o "${folder}" --depfile "${folder}/${name}.d" ${named} ${options}
      DEPENDS "${source}" "${KC_PROGRAM}" ${kc_DEPENDS}
      ${depfile}
      COMMENT "Compiling the kernels of ${file}"
      COMMAND_EXPAND_LISTS
      VERBATIM)
    list(APPEND written "${folder}/${name}.o" "${folder}/${name}.h")
  endforeach()
  # A header that is a source makes what includes it wait until it is written.
  add_library(${target} STATIC ${written})
  # Objects have no language; the project may have one of the two alone.
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("C" IN_LIST languages)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  else()
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  target_include_directories(${target} SYSTEM INTERFACE "$<BUILD_INTERFACE:${top}>")
  set_target_properties(${target} PROPERTIES KC_HEADERS "${top}")
  target_link_libraries(${target} INTERFACE Threads::Threads m)
endfunction()

function(kc_install_kernels target)
  include(GNUInstallDirs)
  cmake_parse_arguments(PARSE_ARGV 1 kc "" "EXPORT" "")
  if(kc_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kc_install_kernels(${target}): what is ${kc_UNPARSED_ARGUMENTS}?")
  endif()
  get_target_property(headers ${target} KC_HEADERS)
  if(NOT headers)
    message(FATAL_ERROR "kc_install_kernels(${target}): kc_add_kernels made no such library")
  endif()
  set(export)
  if(kc_EXPORT)
    set(export EXPORT ${kc_EXPORT})
  endif()
  # Headers of two libraries may have one name.
  set(folder "${CMAKE_INSTALL_INCLUDEDIR}/${target}")
  target_include_directories(${target} SYSTEM INTERFACE "$<INSTALL_INTERFACE:${folder}>")
  install(TARGETS ${target} ${export} ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(DIRECTORY "${headers}/" DESTINATION "${folder}" FILES_MATCHING PATTERN "*.h")
endfunction()
