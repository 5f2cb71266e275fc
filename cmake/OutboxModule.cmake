# One folder of src/ is one static library, outbox_<name>, made of its *.cc files.
# Files named *_test.cc beside the code become the unit test program <name>_test.
#
#   outbox_module(relay DEPENDS model config LIBRARIES fmt::fmt)
#
# DEPENDS names other modules; LIBRARIES names imported targets. A module inside another folder
# (sink/kafka) is called sink_kafka.
function(outbox_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES;TEST_LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM ARG_DEPENDS PREPEND outbox_)
  if(name MATCHES "^sink_")
    set_property(GLOBAL APPEND PROPERTY OUTBOX_SINKS outbox_${name})  # what the daemon links: src/app
  endif()

  set(target outbox_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC outbox_options ${ARG_DEPENDS} ${ARG_LIBRARIES})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE outbox_options ${ARG_DEPENDS} ${ARG_LIBRARIES})
  endif()

  if(tests AND OUTBOX_TESTS)
    outbox_test(${name}_test UNIT SOURCES ${tests} LIBRARIES ${target} ${ARG_TEST_LIBRARIES})
  endif()
endfunction()

# A GoogleTest program. Its label is the part of ./test that runs it.
#
#   outbox_test(kafka_integration LABEL integration SOURCES a.cc LIBRARIES outbox_sink_kafka)
function(outbox_test name)
  cmake_parse_arguments(ARG "UNIT" "LABEL;TIMEOUT" "SOURCES;LIBRARIES" ${ARGN})
  if(ARG_UNIT)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE outbox_options ${ARG_LIBRARIES} GTest::gtest GTest::gtest_main)
  if(OUTBOX_SANITIZE STREQUAL thread)
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/tsan_c11_threads.cc)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(NOT TARGET tests_${ARG_LABEL})
    add_custom_target(tests_${ARG_LABEL})  # what a part of ./test has to build
  endif()
  add_dependencies(tests_${ARG_LABEL} ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
endfunction()

# Compiles the *.sql files of a folder into a target, so that the binary needs no files beside it. Declares
#   namespace outbox { std::span<const SqlFile> <symbol>(); }     (db/sql_file.h), sorted by name.
function(outbox_embed_sql target folder symbol)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.sql)
  list(SORT files)
  set(rows "")
  foreach(file ${files})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    cmake_path(GET file FILENAME name)
    string(APPEND rows "    SqlFile{\"${name}\", R\"sql(${text})sql\"},\n")
  endforeach()
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cc)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT
"#include \"db/sql_file.h\"

namespace outbox {
std::span<const SqlFile> @symbol@();
std::span<const SqlFile> @symbol@() {
  static constexpr SqlFile kFiles[] = {
@rows@  };
  return kFiles;
}
}  // namespace outbox
")
  target_sources(${target} PRIVATE ${generated})
endfunction()
