// The smallest program that uses an installed Glassformer.
#include <iostream>

#include "glassformer/glassformer.h"

int main() {
  std::cout << "glassformer " << glassformer::version() << '\n';
  return 0;
}
