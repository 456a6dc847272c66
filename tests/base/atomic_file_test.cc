#include "base/atomic_file.h"

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace glassformer::testing {
namespace {

namespace fs = std::filesystem;

size_t count_files(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(MakeFolders, SaysWhetherItMadeThemAndWhatIsInTheWay) {
  const TemporaryFolder folder;
  EXPECT_TRUE(make_folders(folder / "a" / "b"));
  EXPECT_FALSE(make_folders(folder / "a" / "b"));
  write_bytes(folder / "file", "x");
  expect_throws<FileError>([&] { make_folders(folder / "file" / "c"); }, "/file/c: cannot be made");
}

TEST(AtomicFile, ReplacesOnCommitOnly) {
  const TemporaryFolder folder;
  write_bytes(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new, half");
    EXPECT_EQ(read_bytes(folder / "a"), "old");
  }
  EXPECT_EQ(read_bytes(folder / "a"), "old");
  EXPECT_EQ(count_files(folder.path()), 1U);
  AtomicFile file(folder / "a");
  file.write("new, ");
  file.write("whole");
  file.commit();
  EXPECT_EQ(read_bytes(folder / "a"), "new, whole");
  EXPECT_EQ(count_files(folder.path()), 1U);
}

TEST(AtomicFile, TakesOverWhatAKilledWriterLeft) {
  const TemporaryFolder folder;
  write_bytes(folder / ".a.tmp", "a long leftover of a writer that was killed");
  AtomicFile file(folder / "a");
  file.write("new");
  file.commit();
  EXPECT_EQ(read_bytes(folder / "a"), "new");
  EXPECT_EQ(count_files(folder.path()), 1U);
}

TEST(AtomicFile, RefusesASecondWriter) {
  const TemporaryFolder folder;
  AtomicFile first(folder / "a");
  expect_throws<FileError>([&] { AtomicFile(folder / "a"); },
                           "/a: is being written by someone else");
  first.write("first");
  first.commit();
  EXPECT_EQ(read_bytes(folder / "a"), "first");
}

TEST(AtomicFile, SaysWhyItCannotWrite) {
  const TemporaryFolder folder;
  write_bytes(folder / "file", "");
  expect_throws<FileError>([&] { AtomicFile(folder / "no/a"); },
                           {"/no/a: expected a folder", "No such file"});
  expect_throws<FileError>([&] { AtomicFile(folder / "file/a"); }, {"/file/a", "Not a directory"});
  expect_throws<FileError>([&] { AtomicFile(""); }, "expected the name of a file");
  fs::create_directory(folder / "taken");
  expect_throws<FileError>([&] { AtomicFile(folder / "taken").commit(); },
                           {"/taken: cannot be replaced", "Is a directory"});
  fs::create_symlink("file", folder / ".link.tmp");
  expect_throws<FileError>([&] { AtomicFile(folder / "link"); }, "/link: ");
  ASSERT_EQ(mkfifo((folder / ".pipe.tmp").c_str(), 0600), 0);
  expect_throws<FileError>([&] { AtomicFile(folder / "pipe"); }, "/pipe: ");
}

// A limit on the size of files fails a write half-way, as a full disk does.
TEST(AtomicFile, LeavesTheOldFileWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  write_bytes(folder / "a", "old");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string text(1500, 'x');
  expect_throws<FileError>(
      [&] {
        AtomicFile file(folder / "a");
        file.write(text);
      },
      {"/a: cannot be written", "File too large"});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_bytes(folder / "a"), "old");
  EXPECT_EQ(count_files(folder.path()), 1U);
}

TEST(AtomicFile, CopiesFilesAndFolders) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "from/inner");
  write_bytes(folder / "from/inner/a", "content");
  write_bytes(folder / "from/empty", "");
  fs::create_directories(folder / "to/inner");
  write_bytes(folder / "to/inner/a", "older and longer");
  copy_files(folder / "from", folder / "to");
  EXPECT_EQ(read_bytes(folder / "to/inner/a"), "content");
  EXPECT_EQ(read_bytes(folder / "to/empty"), "");
  EXPECT_EQ(count_files(folder / "to"), 2U);
  expect_throws<FileError>([&] { copy_files(folder / "none", folder / "to/none"); }, "/none");
  expect_throws<FileError>([&] { copy_files(folder / "from", folder / "to/empty/x"); },
                           "/to/empty/x: cannot be made");
}

TEST(AtomicFile, IsWholeWheneverTheWriterIsKilled) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a";
  constexpr size_t kSize = 1 << 18;
  write_bytes(path, std::string(kSize, 'a'));
  for (int round = 0; round < 20; ++round) {
    const pid_t writer = fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      for (char letter = 'a';; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) {
        AtomicFile file(path);
        const std::string half(kSize / 2, letter);
        file.write(half);
        file.write(half);
        file.commit();
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + 1700 * round));
    kill(writer, SIGKILL);
    waitpid(writer, nullptr, 0);
    const std::string found = read_bytes(path);
    ASSERT_EQ(found.size(), kSize);
    ASSERT_EQ(found.find_first_not_of(found[0]), std::string::npos);
  }
}

}  // namespace
}  // namespace glassformer::testing
