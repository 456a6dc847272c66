#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "glassformer/models/model.h"

namespace glassformer {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string model, output, type = "int8";
  int64_t group = 32;
  bool json = false;
};

bool is_weights(const fs::path& file) {
  const std::string name = file.filename().string();
  for (const char* ending : {".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json",
                             ".gguf", ".h5", ".msgpack", ".onnx", ".pt", ".pth"})
    if (name.ends_with(ending)) return true;
  return false;
}

// What a training run leaves beside the model.
bool is_of_training(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("checkpoint-") || name.starts_with("events.out.") ||
         name == "log.jsonl" || name == "loss.svg";
}

// Tokenizer, generation settings, pooling: everything but weights and config.json.
void copy_others(const fs::path& from, const fs::path& to) {
  const fs::recursive_directory_iterator end;
  for (fs::recursive_directory_iterator entry(from); entry != end; ++entry) {
    const fs::path& path = entry->path();
    if (is_of_training(path)) {
      entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_regular_file() || is_weights(path)) continue;
    const fs::path relative = fs::relative(path, from);
    if (relative == "config.json") continue;
    make_folders((to / relative).parent_path());
    copy_files(path, to / relative);
  }
}

// The folder that is written to, which was empty or not there, as it becomes again unless all is
// written.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& path) : path_(path), made_(make_folders(path)) {}
  ~NewFolder() {
    if (whole_) return;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(path_, ignored))
      fs::remove_all(entry.path(), ignored);
    if (made_) fs::remove(path_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  void keep() { whole_ = true; }

 private:
  const fs::path& path_;
  bool made_, whole_ = false;
};

int64_t weight_bytes(const fs::path& folder) {
  if (!fs::is_directory(folder)) return static_cast<int64_t>(fs::file_size(folder));
  int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".safetensors")
      bytes += static_cast<int64_t>(entry.file_size());
  return bytes;
}

void run(const Options& options) {
  const fs::path from = options.model, to = options.output;
  require<FileError>(!fs::exists(to) || (fs::is_directory(to) && fs::is_empty(to)),
                     "{}: is there already; choose a folder that is not, or remove it",
                     to.string());
  const Model model =
      Model::open(from, {.purpose = LoadOptions::Purpose::kReading, .dtype = std::nullopt});
  for (const Parameter& parameter : model.transformer().parameters())
    require<ValueError>(!parameter.quantised.defined(),
                        "{}: expected floating weights, found a model that is quantised already "
                        "({}): it is used as it is, and quantising it again would lose more",
                        from.string(), name_of(parameter.quantised.scheme));
  std::optional<Progress> progress;
  SaveOptions save{.group = options.group, .progress = [&](size_t done, size_t total) {
                     if (!progress) progress.emplace("tensors", static_cast<int64_t>(total));
                     progress->update(static_cast<int64_t>(done));
                   }};
  if (options.type == "bfloat16" || options.type == "float16")
    save.dtype = dtype_from_name(options.type);
  else
    save.scheme = quant_scheme_from_name(options.type);
  try {
    NewFolder folder(to);
    if (fs::is_directory(from)) copy_others(from, to);
    model.save(to, save);
    folder.keep();
  } catch (const fs::filesystem_error& error) {
    throw FileError(fmt::format("{}: cannot be written: {}", to.string(), error.code().message()));
  }
  progress.reset();
  const int64_t before = weight_bytes(from), after = weight_bytes(to);
  if (options.json)
    fmt::print("{}\n", Json{{"output", to.string()},
                            {"type", options.type},
                            {"bytes_before", before},
                            {"bytes_after", after}}
                           .dump(2));
  else
    fmt::print("{}: {} weights, {} bytes instead of {}\n", to.string(), options.type, after,
               before);
}

}  // namespace

void add_quantize(CLI::App& app) {
  CLI::App* command = app.add_subcommand("quantize", "writes a model with smaller weights");
  auto options = std::make_shared<Options>();
  add_model_argument(*command, options->model,
                     "a Hugging Face folder or a .gguf file of floating weights");
  command->add_option("OUT", options->output, "the folder to write")->required();
  command->add_option("--type", options->type, "what matrices are written in")
      ->check(CLI::IsMember({"int8", "int4", "bfloat16", "float16"}))
      ->capture_default_str();
  command->add_option("--group-size", options->group, "int4: weights that share a scale")
      ->check(CLI::IsMember({32, 64, 128}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "for programs");
  command->callback([options] { run(*options); });
}

}  // namespace glassformer
