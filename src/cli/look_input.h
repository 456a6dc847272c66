#pragma once

#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>

#include "glassformer/inspect/look.h"

namespace glassformer {

// What `look` is asked to look at.
struct LookArguments {
  std::string input = {};                 // a text, or a picture file for a vision model
  std::string target = {};                // of an encoder–decoder: what it is shown to have said
  std::string ids = {}, target_ids = {};  // '[1,2]' in place of the two
  int64_t generate = 0;  // so many tokens more; an encoder–decoder without target: as many
                         // as its folder says
  int64_t beams = 0;     // 0: as the folder says

  void add_to(CLI::App& command);
};

// "opus-mt-en-de", of a folder or file.
std::string name_of_model(const std::filesystem::path& path);

struct LookSubject {
  LookInput input;
  std::string tree;  // of a generation: JSON, each node with the text of its token
};

// The input with its tokens or patches, and with what the model says to it where that is asked for
// or needed. Throws ValueError for one that does not fit the model, and what reading it throws.
LookSubject look_subject(const Model& model, const std::string& path,
                         const LookArguments& arguments);

}  // namespace glassformer
