# cmake -D INTO=FILE.cpp -P embed.cmake: the page's sources as C++, with the SHA-256 of what its Content-Security-Policy
# lets run.
set(here ${CMAKE_CURRENT_LIST_DIR})
set(CODE "")

# Adds the expression name = {R"page(...)page", ...} for `files`, and the hash of all of them together.
function(embed name)
  set(literals "")
  set(joined "")
  foreach(file IN LISTS ARGN)
    file(READ "${here}/${file}" text)
    string(LENGTH "${text}" length)
    if(length GREATER 60000)
      message(FATAL_ERROR "${file} has ${length} characters; a C++ literal holds 65536")
    endif()
    string(APPEND literals "R\"page(${text})page\", ")
    string(APPEND joined "${text}")
  endforeach()
  string(SHA256 hash "${joined}")
  set(CODE "${CODE}      .${name} = {${literals}},\n" PARENT_SCOPE)
  set(${name}_sha256 ${hash} PARENT_SCOPE)
endfunction()

file(GLOB scripts RELATIVE ${here} "${here}/*.js")
list(SORT scripts)
set(first chinese.js chinese_program.js chinese_views.js language.js)  # the others use their texts while they load
list(REMOVE_ITEM scripts ${first} start.js)

file(READ "${here}/index.html" document)
embed(style page.css)
embed(script ${first} ${scripts} start.js)
file(WRITE "${INTO}" "#include \"inspect/page/page_source.h\"

const heed::PageSource& heed::page_source() {
  static const PageSource source{
      .document = R\"page(${document})page\",
${CODE}      .style_sha256 = \"${style_sha256}\",
      .script_sha256 = \"${script_sha256}\"};
  return source;
}
")
