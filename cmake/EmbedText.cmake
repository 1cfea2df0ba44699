# Texts as C++ arrays, so that a library carries its own files.
#
# gnnc_embed_text(OUT_CPP SYMBOL FILE...)
#
# makes OUT_CPP (a path under the build tree, to be listed among a target's sources), which defines
#   const char *const SYMBOL_names[];   the files' names without directory and last extension
#   const char *const SYMBOL_texts[];   their texts
#   const size_t SYMBOL_sizes[];        their lengths
#   const size_t SYMBOL_count;
# It is made again when a file changes. This file is also the script that does it.

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  set(names "")
  set(texts "")
  set(sizes "")
  set(count 0)
  foreach(file IN LISTS FILES)
    get_filename_component(name "${file}" NAME_WLE)
    file(READ "${file}" text)
    string(APPEND names "    \"${name}\",\n")
    string(APPEND texts "static const char text${count}[] = R\"gnnc_text(${text})gnnc_text\";\n")
    string(APPEND list "    text${count},\n")
    string(APPEND sizes "    sizeof(text${count}) - 1,\n")
    math(EXPR count "${count} + 1")
  endforeach()
  file(WRITE "${OUT}"
    "// Made by cmake/EmbedText.cmake.\n#include <cstddef>\n\n${texts}\n"
    "extern const char *const ${SYMBOL}_names[];\nconst char *const ${SYMBOL}_names[] = {\n${names}};\n"
    "extern const char *const ${SYMBOL}_texts[];\nconst char *const ${SYMBOL}_texts[] = {\n${list}};\n"
    "extern const size_t ${SYMBOL}_sizes[];\nconst size_t ${SYMBOL}_sizes[] = {\n${sizes}};\n"
    "extern const size_t ${SYMBOL}_count;\nconst size_t ${SYMBOL}_count = ${count};\n")
  return()
endif()

set(GNNC_EMBED_TEXT_SCRIPT "${CMAKE_CURRENT_LIST_FILE}" CACHE INTERNAL "")

function(gnnc_embed_text out symbol)
  set(files "")
  foreach(file IN LISTS ARGN)
    get_filename_component(file "${file}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND files "${file}")
  endforeach()
  add_custom_command(
    OUTPUT "${out}"
    COMMAND ${CMAKE_COMMAND} "-DOUT=${out}" "-DSYMBOL=${symbol}" "-DFILES=${files}" -P "${GNNC_EMBED_TEXT_SCRIPT}"
    DEPENDS ${files} "${GNNC_EMBED_TEXT_SCRIPT}"
    COMMENT "Embedding ${symbol}"
    VERBATIM)
endfunction()
