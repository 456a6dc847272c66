#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "cli/commands.h"
#include "glassformer/base/error.h"
#include "glassformer/base/version.h"

namespace {

constexpr int kFailed = 1, kUsage = 2;

int run(int count, char** arguments) {
  CLI::App app{"Trains, runs and shows Transformers.", "glassformer"};
  app.set_version_flag("--version", std::string(glassformer::version()));
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  glassformer::add_classify(app);
  glassformer::add_embed(app);
  glassformer::add_forward(app);
  glassformer::add_info(app);
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    fmt::print(
        stderr, "error: {}\ntry: glassformer{} --help\n", error.what(),
        app.get_subcommands().empty() ? "" : " " + app.get_subcommands().front()->get_name());
    return kUsage;
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return kFailed;
  }
}
