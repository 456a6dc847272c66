#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace glassformer {

// The models that come with the program, by name. They lie in $GLASSFORMER_MODELS, or else in
// share/glassformer/models beside the installed program or in models/ of the tree it was built in.
std::vector<std::string> bundled_models();

// The folder of a bundled model; `given` itself where that is a path to something. Throws
// FileError, with the names there are, where it is neither.
std::filesystem::path model_path(const std::string& given);

}  // namespace glassformer
