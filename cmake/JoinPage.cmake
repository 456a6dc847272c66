# Joins web/ into one page that opens from disk, where browsers refuse to load modules:
#   cmake -D WEB=web -D PAGE=page.html [-D SOURCE=page_shell.cc] -P cmake/JoinPage.cmake
# Style and modules stand inside the page, and its content security policy allows those two texts by
# their SHA-256 and nothing else. SOURCE gets the same page as a C++ string, for the binary.
#
# A module becomes a function that returns its exports. It may write `import { a, b } from './x.js';`
# and `export function|async function|class|const x`, each at the start of a line, and no other form.
cmake_minimum_required(VERSION 3.25)

# Appends `module`, a path below WEB, to the global property JOINED, after what it imports.
function(join module)
  get_property(done GLOBAL PROPERTY DONE)
  if(module IN_LIST done)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY DONE ${module})
  file(READ ${WEB}/${module} text)
  set(text "\n${text}")
  string(REGEX MATCHALL "\nimport {[^}]*} from '[^']*'" imports "${text}")
  foreach(import IN LISTS imports)
    string(REGEX REPLACE ".*'\\.\\.?/([^']*)'" "\\1" path "${import}")
    join(${path})
  endforeach()
  string(REGEX REPLACE "\nimport ({[^}]*}) from '\\.\\.?/([^']*)'"
                       "\nconst \\1 = modules['\\2']" text "${text}")
  string(REGEX MATCHALL "\nexport (async )?(function|class|const) [A-Za-z0-9_]+" exports "${text}")
  list(TRANSFORM exports REPLACE ".* " "")
  list(JOIN exports ", " exports)
  string(REGEX REPLACE "\nexport " "\n" text "${text}")
  if(text MATCHES "\n(import|export) " OR text MATCHES "</[sS][cC][rR][iI]" OR text MATCHES "<!--")
    message(FATAL_ERROR "${module}: expected a module as cmake/JoinPage.cmake describes them")
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY JOINED
               "\nmodules['${module}'] = (() => {${text}return { ${exports} };\n})();\n")
endfunction()

# The base64 of a SHA-256, as policies spell it, from 64 hexadecimal digits.
function(policy_hash text result)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(SHA256 digits "${text}")
  set(hash "")
  foreach(at RANGE 0 60 3) # Three digits are two characters.
    string(SUBSTRING ${digits} ${at} 3 three)
    math(EXPR first "0x${three} >> 6")
    math(EXPR second "0x${three} & 63")
    string(SUBSTRING ${alphabet} ${first} 1 first)
    string(SUBSTRING ${alphabet} ${second} 1 second)
    string(APPEND hash ${first}${second})
  endforeach()
  string(SUBSTRING ${digits} 63 1 last)
  math(EXPR last "0x${last} << 2")
  string(SUBSTRING ${alphabet} ${last} 1 last)
  set(${result} "'sha256-${hash}${last}='" PARENT_SCOPE)
endfunction()

# Puts `text` inside `tag` in place of `marker`, and its hash in place of 'self' in its policy.
function(inline marker tag policy text)
  policy_hash("${text}" hash)
  get_property(page GLOBAL PROPERTY PAGE)
  string(REGEX MATCH "^[a-z]+" name ${tag})
  foreach(expected "${marker}" "${policy} 'self'")
    string(FIND "${page}" "${expected}" found)
    if(found EQUAL -1)
      message(FATAL_ERROR "index.html: expected ${expected}")
    endif()
  endforeach()
  string(REPLACE "${policy} 'self'" "${policy} ${hash}" page "${page}")
  string(REPLACE "${marker}" "<${tag}>${text}</${name}>" page "${page}")
  set_property(GLOBAL PROPERTY PAGE "${page}")
endfunction()

file(READ ${WEB}/index.html page)
set_property(GLOBAL PROPERTY PAGE "${page}")
file(READ ${WEB}/style.css style)
inline("<link rel=\"stylesheet\" href=\"style.css\">" "style" "style-src" "${style}")
join(main.js)
get_property(script GLOBAL PROPERTY JOINED)
inline("<script type=\"module\" src=\"main.js\"></script>" "script type=\"module\"" "script-src"
       "const modules = {};\n${script}")
get_property(page GLOBAL PROPERTY PAGE)

if(PAGE)
  file(WRITE ${PAGE} "${page}")
endif()
if(SOURCE)
  file(WRITE ${SOURCE} "// Made by cmake/JoinPage.cmake from web/.
#include \"inspect/page_shell.h\"

namespace glassformer {
const std::string_view kPageShell = R\"shell(${page})shell\";
}  // namespace glassformer
")
endif()
