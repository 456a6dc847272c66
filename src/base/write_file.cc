#include "base/write_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

namespace glassformer {
namespace {

// The file beside the target; removed on every way out but take_name_of().
class NewFile {
 public:
  explicit NewFile(const std::filesystem::path& target)
      : target_(target), path_(target.string() + ".XXXXXX") {
    descriptor_ = mkstemp(path_.data());
    check(descriptor_ >= 0, "be created");
  }
  ~NewFile() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    unlink(path_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      check(written >= 0, "be written");
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }

  void take_name() {
    // mkstemp's file is its owner's alone; a file that was written plainly follows the umask.
    const mode_t mask = umask(0);
    umask(mask);
    check(fchmod(descriptor_, 0666 & ~mask) == 0 && fsync(descriptor_) == 0, "be written");
    check(rename(path_.c_str(), target_.c_str()) == 0, "be renamed");
    close(descriptor_);
    descriptor_ = -1;
  }

 private:
  void check(bool done, const char* what) const {
    require<FileError>(done, "{}: expected a file that can {}, found: {}", target_.string(), what,
                       std::strerror(errno));
  }

  const std::filesystem::path& target_;
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  NewFile file(path);
  file.append(bytes);
  file.take_name();
}

}  // namespace glassformer
