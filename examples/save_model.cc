// Opens a model folder and writes it again: what a program does after it has trained one.
//
//   usage: save_model MODEL OUT

#include <cstdio>
#include <exception>

#include "glassformer/glassformer.h"

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: save_model MODEL OUT\n");
    return 2;
  }
  try {
    glassformer::Model::open(arguments[1]).save(arguments[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
