#include "base/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mapped_file.h"

namespace glassformer {
namespace {

// What one write() may take; Linux stops at 2 GiB.
constexpr size_t kMaxWrite = size_t{1} << 30;

bool same_file(int file, const std::filesystem::path& path) {
  struct stat held {
  }, there{};
  return fstat(file, &held) == 0 && lstat(path.c_str(), &there) == 0 &&
         held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

}  // namespace

void sync_folder(const std::filesystem::path& folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  require<FileError>(file >= 0, "{}: the folder cannot be opened: {}", folder.string(),
                     std::strerror(errno));
  // Some file systems have no fsync of folders and say EINVAL.
  const bool synced = fsync(file) == 0 || errno == EINVAL;
  close(file);
  require<FileError>(synced, "{}: the folder cannot be written", folder.string());
}

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)),
      temporary_(folder_of(path_) / fmt::format(".{}.tmp", path_.filename().string())) {
  require<FileError>(path_.has_filename(), "'{}': expected the name of a file to write",
                     path_.string());
  try {
    open_temporary();
  } catch (...) {
    if (file_ >= 0) close(file_);
    throw;
  }
}

void AtomicFile::open_temporary() {
  for (;;) {
    file_ =
        open(temporary_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (file_ < 0) fail("expected a folder that can be written to");
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      require<FileError>(errno != EWOULDBLOCK, "{}: is being written by someone else",
                         path_.string());
      // A file system without locks: go on without.
    }
    // Between open and flock another writer may have renamed or removed the file we hold.
    if (same_file(file_, temporary_)) break;
    close(file_);
  }
  struct stat status {};
  require<FileError>(fstat(file_, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1,
                     "{}: expected a file of our own, found something else", temporary_.string());
  if (ftruncate(file_, 0) != 0) fail("expected a file that can be written");
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  unlink(temporary_.c_str());
  close(file_);
}

void AtomicFile::write(const void* data, size_t bytes) {
  internal_check(file_ >= 0, "AtomicFile::write after commit");
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file_, at, std::min(bytes, kMaxWrite));
    if (written < 0) {
      if (errno == EINTR) continue;
      fail("cannot be written");
    }
    at += written;
    bytes -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  internal_check(file_ >= 0, "AtomicFile::commit twice");
  if (fsync(file_) != 0) fail("cannot be written");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be replaced");
  close(file_);
  file_ = -1;
  sync_folder(folder_of(path_));
}

bool make_folders(const std::filesystem::path& folder) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(folder, error);
  require<FileError>(!error, "{}: cannot be made: {}", folder.string(), error.message());
  return made;
}

void copy_files(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (!std::filesystem::is_directory(from)) {
    const MappedFile content(from);
    AtomicFile file(to);
    file.write(content.data(), content.bytes());
    return file.commit();
  }
  make_folders(to);
  for (const auto& entry : std::filesystem::directory_iterator(from))
    copy_files(entry.path(), to / entry.path().filename());
}

void AtomicFile::fail(std::string_view what) const {
  throw FileError(fmt::format("{}: {}: {}", path_.string(), what, std::strerror(errno)));
}

}  // namespace glassformer
