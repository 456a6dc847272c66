#include "glassformer/glassformer.h"
int main() {}
