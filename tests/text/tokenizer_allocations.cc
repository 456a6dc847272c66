// A program of its own, because it replaces operator new: encoding a text that is eight times as
// long may cost a few allocations more (each list of the result doubles three times), and none for
// each token.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>

#include "glassformer/text/tokenizer.h"

namespace {

std::atomic<size_t> allocations = 0;

}  // namespace

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace {

constexpr const char* kText =
    "First Citizen: Before we proceed any further, hear me speak. Of what 2 or 3 unheard-of "
    "antidisestablishmentarianisms do they speak?\nWe know't, we know't! ";

std::string repeat(int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += kText;
  return text;
}

// True where the longer text stays within the bound.
bool check(const std::string& style) {
  const auto file =
      std::filesystem::path(GLASSFORMER_FIXTURES_DIR) / "text" / (style + ".tokenizer.json");
  const auto tokenizer = glassformer::Tokenizer::open(file);
  glassformer::EncodeOptions options;
  options.file_settings = false;
  const auto count = [&](const std::string& text, size_t& tokens) {
    const size_t before = allocations;
    tokens = tokenizer.encode(text, options).size();
    return allocations - before;
  };
  const std::string shorter = repeat(100);
  const std::string longer = repeat(800);
  size_t few = 0;
  size_t many = 0;
  count(longer, many);  // the scratch grows to what is needed
  const size_t one = count(shorter, few);
  const size_t eight = count(longer, many);
  constexpr size_t kLists = 16;  // of the result, and of what is kept on the way to it
  const bool good = many > few * 7 && eight <= one + 3 * kLists;
  std::printf("%s: %zu tokens, %zu allocations; %zu tokens, %zu allocations%s\n", style.c_str(),
              few, one, many, eight, good ? "" : ": TOO MANY");
  return good;
}

}  // namespace

int main() {
  bool good = true;
  for (const char* style : {"gpt2", "llama3", "bert", "t5", "llama2", "precompiled"})
    good = check(style) && good;
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
