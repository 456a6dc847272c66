# One target a folder of src/. The sources of a folder are all its .cc files, and `USES` names the
# folders below it on the ladder; tools/check-ladder holds the includes to it.
function(glassformer_folder name)
  cmake_parse_arguments(ARG "" "" "USES;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_library(glassformer_${name} OBJECT ${sources})
  target_include_directories(
    glassformer_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  glassformer_warnings(glassformer_${name})
  target_link_libraries(glassformer_${name} PUBLIC ${ARG_LIBRARIES})
  foreach(folder IN LISTS ARG_USES)
    # An object library hands on how to compile, not its objects: those are linked once, below.
    target_link_libraries(glassformer_${name} PUBLIC glassformer_${folder})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY GLASSFORMER_FOLDERS glassformer_${name})
endfunction()

function(glassformer_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Werror
                                           -Wnon-virtual-dtor -Woverloaded-virtual)
endfunction()
