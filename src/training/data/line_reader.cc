#include "training/data/line_reader.h"

#include "base/check.h"
#include "text/utf8.h"

namespace glassformer {
namespace {

constexpr size_t kBuffer = 1 << 16;
constexpr size_t kMaxLine = size_t{256} << 20;

}  // namespace

LineReader::LineReader(ByteSource source, std::string name)
    : source_(std::move(source)), name_(std::move(name)) {}

bool LineReader::fill() {
  buffer_.resize(kBuffer);
  rest_ = std::string_view(buffer_).substr(0, source_(buffer_));
  return !rest_.empty();
}

bool LineReader::next(std::string& line, bool keep_return) {
  line.clear();
  if (rest_.empty() && !fill()) return false;
  ++number_;
  size_t end = 0;
  while ((end = rest_.find('\n')) == std::string_view::npos) {
    line += rest_;
    require<FileError>(line.size() <= kMaxLine, "{}: expected a line of at most {} bytes", where(),
                       kMaxLine);
    if (!fill()) break;
  }
  if (end != std::string_view::npos) {
    line += rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
  }
  if (!keep_return && line.ends_with('\r')) line.pop_back();
  if (number_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  if (valid_utf8(line) != line.size()) line = replace_invalid_utf8(line);
  return true;
}

std::string LineReader::where() const { return fmt::format("{}:{}", name_, number_); }

}  // namespace glassformer
