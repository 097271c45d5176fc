# cmake -D ASSETS=FOLDER -D PAGE=FILE.html -D SOURCE=FILE.cpp -P assemble.cmake
#
# Puts style and scripts into page.html, where it names them, and writes the whole as PAGE and, for the
# program, as SOURCE. What folders share lies above them, so it comes first; main.js, which starts the
# others, comes last.
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

# Comments and indentation stay here: a page is sent to each who follows, and is kept with each run. No
# text of the scripts goes on over the end of a line.
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

# A string literal may not be that long everywhere; an array may.
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
