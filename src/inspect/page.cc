#include "glassformer/inspect/page.h"

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/check.h"
#include "base/json.h"
#include "inspect/page_codes.h"
#include "inspect/page_shell.h"

namespace glassformer {
namespace {

// JSON in which nothing can end the element that it stands in, or a line of a script. Outside of
// strings JSON has none of these characters, and inside a string the escape means the same.
std::string escaped(std::string_view json) {
  static constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {
      {"<", "\\u003c"},
      {">", "\\u003e"},
      {"&", "\\u0026"},
      {"\xE2\x80\xA8", "\\u2028"},
      {"\xE2\x80\xA9", "\\u2029"}};
  std::string text;
  text.reserve(json.size());
  while (!json.empty()) {
    size_t length = 1;
    std::string_view written = json.substr(0, 1);
    for (const auto& [character, escape] : kEscapes)
      if (json.starts_with(character)) {
        length = character.size();
        written = escape;
      }
    text += written;
    json.remove_prefix(length);
  }
  return text;
}

// Attention weights and rollouts: shares of 1.
bool holds_shares(std::string_view name) {
  return name.ends_with(".weights") || name.starts_with("rollout.");
}

std::string block(std::string_view type, std::string_view id, std::string_view text) {
  return fmt::format("<script type=\"application/{}\" id=\"{}\">{}</script>\n", type, id, text);
}

// A report as elements of the page: the meta, the tensors' index, and one element a tensor.
std::string blocks_of(const Report& report, size_t number) {
  Json index = Json::array();
  std::string data;
  for (const auto& [name, tensor] : report.tensors) {
    const PageCodes codes = page_codes(tensor, holds_shares(name));
    data += block("octet-stream", fmt::format("tensor-{}-{}", number, index.size()),
                  packed(codes.codes));
    index.push_back({{"name", name},
                     {"shape", std::vector(tensor.shape().begin(), tensor.shape().end())},
                     {"type", codes.type == PageCodes::Type::kRoot ? "root" : "half"},
                     {"scale", codes.scale}});
  }
  return block("json", fmt::format("meta-{}", number), escaped(meta_json(report))) +
         block("json", fmt::format("tensors-{}", number), escaped(index.dump())) + data;
}

}  // namespace

std::string page_html(std::span<const Report> reports) {
  require<ValueError>(!reports.empty(), "page_html: expected at least one report, found none");
  const size_t mark = kPageShell.find(kPageMark);
  internal_check(mark != std::string_view::npos, "web/index.html without its mark");
  std::string page(kPageShell.substr(0, mark));
  for (size_t i = 0; i < reports.size(); ++i) page += blocks_of(reports[i], i);
  page += kPageShell.substr(mark + kPageMark.size());
  return page;
}

void write_page(std::span<const Report> reports, const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write(page_html(reports));
  file.commit();
}

}  // namespace glassformer
