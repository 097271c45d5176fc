# cmake -D ASSETS=FOLDER -D PAGE=FILE.html -D SOURCE=FILE.cpp -P assemble.cmake
#
# Inserts style and scripts at their places in page.html, and writes the result as PAGE and, for the
# program, as SOURCE. Scripts in the top folder are shared by the subfolders, so they come first;
# main.js, which starts the others, comes last.
file(READ "${ASSETS}/page.html" page)
file(READ "${ASSETS}/page.css" style)
file(GLOB shared "${ASSETS}/*.js")
list(REMOVE_ITEM shared "${ASSETS}/main.js")
file(GLOB scripts "${ASSETS}/*/*.js")
set(script)
foreach(file ${shared} ${scripts} "${ASSETS}/main.js")
  file(READ "${file}" text)
  string(APPEND script "${text}\n")
endforeach()

# Strips comments and indentation: the page is sent to each follower and kept with each run.
# Requires that no string in the scripts spans lines.
string(REGEX REPLACE "\n +" "\n" script "\n${script}")
string(REGEX REPLACE "\n//[^\n]*" "" script "${script}")
string(REGEX REPLACE "\n\n+" "\n" script "${script}")
string(REGEX REPLACE "/\\*[^*]*\\*/" "" style "${style}")
string(REGEX REPLACE "[ \n]+" " " style "${style}")
string(REGEX REPLACE "([{};:,]) " "\\1" style "${style}")
string(REPLACE " {" "{" style "${style}")
string(REPLACE "/* page.css */" "${style}" page "${page}")
string(REPLACE "/* all scripts */" "${script}" page "${page}")
file(WRITE "${PAGE}" "${page}")

# Some compilers limit the length of a string literal, but not of an array.
file(READ "${PAGE}" bytes HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE "${SOURCE}" "#include \"metrics/page/detail/page_text.hpp\"

namespace troupe::metrics {

namespace {

constexpr char page_bytes[] = {${bytes}};

} // namespace

const std::string_view page_text{page_bytes, sizeof page_bytes};

} // namespace troupe::metrics
")
