// Opens a model folder with a LoRA adapter to go on training it, and writes what a program that has
// done so would: the adapter as PEFT opens it, and the model with the adapter merged in.
//
//   usage: save_adapter MODEL ADAPTER OUT_ADAPTER OUT_MODEL

#include <cstdio>
#include <exception>

#include "glassformer/glassformer.h"

int main(int count, char** arguments) {
  using glassformer::LoadOptions;
  if (count != 5) {
    std::fprintf(stderr, "usage: save_adapter MODEL ADAPTER OUT_ADAPTER OUT_MODEL\n");
    return 2;
  }
  try {
    const auto model = glassformer::Model::open(
        arguments[1], {.purpose = LoadOptions::Purpose::kTraining, .adapter = arguments[2]});
    model.save_adapter(arguments[3]);
    model.save(arguments[4]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
