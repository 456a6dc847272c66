#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include <fmt/format.h>

#include "base/check.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "glassformer/base/error.h"
#include "glassformer/base/version.h"

namespace {

constexpr int kFailed = 1, kUsage = 2;

int run(int count, char** arguments) {
  CLI::App app{"Trains, runs and shows Transformers.", "glassformer"};
  app.set_version_flag("--version", std::string(glassformer::version()));
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  glassformer::add_bench(app);
  glassformer::add_classify(app);
  glassformer::add_demo(app);
  glassformer::add_embed(app);
  glassformer::add_evaluate(app);
  glassformer::add_forward(app);
  glassformer::add_generate(app);
  glassformer::add_info(app);
  glassformer::add_look(app);
  glassformer::add_quantize(app);
  glassformer::add_tokenize(app);
  glassformer::add_train(app);
  glassformer::add_translate(app);
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (count > 1 && arguments[1][0] != '-' &&
      std::find(names.begin(), names.end(), arguments[1]) == names.end()) {
    const std::vector<std::string_view> views(names.begin(), names.end());
    fmt::print(stderr, "error: there is no command '{}'{}\ntry: glassformer --help\n", arguments[1],
               glassformer::nearest_hint(arguments[1], views));
    return kUsage;
  }
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
  // A file that may not grow is then an error of its writer, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int status = run(count, arguments);
    const bool printed = std::fflush(stdout) == 0;
    glassformer::require<glassformer::FileError>(
        printed, "the standard output cannot be written: {}", std::strerror(errno));
    return status;
  } catch (const glassformer::Interrupted&) {
    return glassformer::kInterrupted;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return kFailed;
  }
}
