#include <algorithm>
#include <memory>
#include <sstream>

#include <fmt/format.h>

#include "base/check.h"
#include "cli/bundled.h"
#include "cli/commands.h"
#include "cli/generation_run.h"
#include "cli/look_input.h"
#include "cli/look_view.h"
#include "cli/numbers.h"
#include "glassformer/inspect/page.h"

namespace glassformer {
namespace {

struct Options {
  std::string page = "glassformer-demo.html", colour = "auto";
  int threads = 0;
};

struct Translator {
  const char* model;
  const char* language;
};
constexpr Translator kTranslators[] = {{"translate-en-de", "German"},
                                       {"translate-en-fr", "French"}};
constexpr const char* kSentences[] = {
    "Two young men are playing football in the park.",
    "A woman in a red dress is reading a book on a bench.",
    "A wooden walkway leading up a grassy slope under a blue sky.",
};
constexpr const char* kPrompt = "ROMEO:\n";
constexpr int64_t kBeams = 5;

// The first, by name, of the pictures that come with a model.
std::filesystem::path sample_of(const std::filesystem::path& model) {
  std::filesystem::path first;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(model / "samples", error))
    if (entry.path().extension() == ".png" && (first.empty() || entry.path() < first))
      first = entry.path();
  require<FileError>(!first.empty(), "{}: expected a PNG file to look at, found none",
                     (model / "samples").string());
  return first;
}

// The tour, one stop after the other.
class Tour {
 public:
  explicit Tour(const Options& options)
      : options_(options), terminal_(Terminal::of_stdout(options.colour)) {}

  void run() {
    for (const Translator& translator : kTranslators) translate(translator);
    continue_text();
    look_at_translation();
    look_at_picture();
    write_page();
    fmt::print(
        "\nEach of these models was trained by this program; docs/results.md says how. To go on: "
        "glassformer --help\n");
  }

 private:
  void heading(const std::string& text, const std::string& model) {
    fmt::print("{}{}  {}\n", first_ ? "" : "\n", terminal_.bold(text),
               terminal_.faint("glassformer info " + model));
    first_ = false;
  }

  GenerationRunOptions model(const std::string& name) const {
    GenerationRunOptions options;
    options.model.path = model_path(name).string();
    options.model.threads = options_.threads;
    return options;
  }

  // The same sentences with the likeliest word at each step, and with the likeliest sentence that
  // five hypotheses side by side find.
  void translate(const Translator& translator) {
    const GenerationRunOptions options = model(translator.model);
    const GenerationRun run(options);
    heading(fmt::format("English to {}, greedy and with {} beams", translator.language, kBeams),
            translator.model);
    std::vector<GenerationRequest> requests;
    for (const char* sentence : kSentences)
      for (const int64_t beams : {int64_t{1}, kBeams}) {
        GenerationRequest request = run.request(run.source_tokenizer().encode(sentence).ids);
        request.options.num_beams = beams;
        requests.push_back(std::move(request));
      }
    const auto results = run.run(std::move(requests), interrupt_, "lines");
    for (size_t i = 0; i < results.size(); i += 2) {
      if (interrupt_.asked()) throw Interrupted();
      fmt::print("  {}\n", kSentences[i / 2]);
      print(run, "greedy", results[i].hypotheses.front());
      print(run, "beams", results[i + 1].hypotheses.front());
    }
  }

  void print(const GenerationRun& run, const char* how, const Hypothesis& said) const {
    float sum = 0;
    for (const float score : said.token_scores) sum += score;
    fmt::print("    {:<7} {}  {}\n", how, run.text_of(said),
               terminal_.faint(fmt::format("log-probability {:.2f}", sum)));
  }

  void continue_text() {
    const GenerationRunOptions options = model("shakespeare");
    const GenerationRun run(options);
    heading("A text goes on, a byte at a time", "shakespeare");
    GenerationRequest request = run.request(run.source_tokenizer().encode(kPrompt).ids);
    request.options.do_sample = true;
    request.options.temperature = 0.7;
    request.options.seed = 1;
    request.options.max_new_tokens =
        run.model().config().max_positions - static_cast<int64_t>(request.ids.size());
    const auto results = run.run({std::move(request)}, interrupt_, "texts");
    if (interrupt_.asked()) throw Interrupted();
    const std::string text = kPrompt + run.text_of(results.front().hypotheses.front());
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) fmt::print("  {}\n", line);
  }

  // What a model does with an input, kept for the page.
  const Report& look_at(const char* name, const LookArguments& arguments, bool lens) {
    const ModelOptions options = model(name).model;
    const Model opened = options.open();
    const LookSubject subject = look_subject(opened, options.path, arguments);
    Report report =
        look(opened, subject.input, {.rollout = LookOptions::Rollout::kAttention, .lens = lens});
    report.model.name = name;
    if (report.generation) report.generation->tree = subject.tree;
    return reports_.emplace_back(std::move(report));
  }

  void look_at_translation() {
    const char* name = kTranslators[0].model;
    const Report& report = look_at(name, {.input = kSentences[0], .beams = kBeams}, /*lens=*/true);
    heading("Where the translator looked", name);
    fmt::print("{}", map_of(report, {.terminal = terminal_, .map = "cross"}));
  }

  void look_at_picture() {
    const char* name = "fashion-mnist";
    const std::vector<std::string> there = bundled_models();
    if (std::find(there.begin(), there.end(), name) == there.end()) {
      fmt::print("\nThe model that reads pictures, {}, is not among the bundled ones.\n", name);
      return;
    }
    const std::filesystem::path picture = sample_of(model_path(name));
    const Report& report = look_at(name, {.input = picture.string()}, /*lens=*/false);
    heading(fmt::format("What is in the picture {}", picture.filename().string()), name);
    fmt::print("{}", prediction_of(report, {.terminal = terminal_}));
    fmt::print("{}", map_of(report, {.terminal = terminal_, .rollout = true}));
  }

  void write_page() const {
    glassformer::write_page(reports_, options_.page);
    fmt::print("\nEvery layer, head and step of {}, to open in a browser: {}\n",
               reports_.size() > 1 ? "both" : "it",
               std::filesystem::absolute(options_.page).string());
  }

  const Options& options_;
  const Terminal terminal_;
  const Interrupt interrupt_;
  std::vector<Report> reports_;
  bool first_ = true;
};

}  // namespace

void add_demo(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "demo",
      "the tour: translates, continues a text, names what is in a picture and shows the attention, "
      "in seconds");
  auto options = std::make_shared<Options>();
  command->add_option("--html", options->page, "where to write the page that looks inside")
      ->capture_default_str();
  command->add_option("--color", options->colour, "colours: auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command->add_option("--threads", options->threads, "how many threads to use")
      ->check(at_least_one());
  command->callback([options] { Tour(*options).run(); });
}

}  // namespace glassformer
