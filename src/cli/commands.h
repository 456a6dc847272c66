#pragma once

#include <CLI/CLI.hpp>

namespace glassformer {

// Each declares its options and what runs when it is chosen. One file a command.
void add_bench(CLI::App& app);
void add_classify(CLI::App& app);
void add_demo(CLI::App& app);
void add_embed(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_forward(CLI::App& app);
void add_generate(CLI::App& app);
void add_info(CLI::App& app);
void add_look(CLI::App& app);
void add_quantize(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_train(CLI::App& app);
void add_translate(CLI::App& app);

}  // namespace glassformer
