#pragma once

#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>

#include "glassformer/inspect/look.h"

namespace glassformer {

// What `look` is asked to look at.
struct LookArguments {
  std::string input;            // a text, or a picture file for a vision model
  std::string target;           // of an encoder–decoder: what it is shown to have said
  std::string ids, target_ids;  // '[1,2]' in place of the two

  void add_to(CLI::App& command);
};

// "opus-mt-en-de", of a folder or file.
std::string name_of_model(const std::filesystem::path& path);

// The input with its tokens or patches. Throws ValueError for one that does not fit the model, and
// what reading it throws.
LookInput look_input(const Model& model, const std::filesystem::path& path,
                     const LookArguments& arguments);

}  // namespace glassformer
