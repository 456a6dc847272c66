// Lines, rows and IDX arrays, plain and gzip, well-formed and not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "training/data/idx.h"
#include "training/data/row_reader.h"
#include "training/gzip_file.h"

namespace glassformer::testing {
namespace {

using ::testing::ElementsAre;
using Rows = std::vector<std::vector<std::string>>;

ByteSource bytes_of(const std::string& text) { return source_of(std::as_bytes(std::span(text))); }

std::vector<std::string> lines_of(const std::string& text) {
  LineReader reader(bytes_of(text), "file");
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

Rows rows_of(const std::string& text, RowFormat format, const std::vector<std::string>& columns,
             std::optional<bool> header = {}) {
  RowReader reader(LineReader(bytes_of(text), "file"), format, columns, header);
  Rows rows;
  while (reader.next()) {
    rows.emplace_back();
    for (size_t i = 0; i < reader.size(); ++i) rows.back().push_back(reader.cell(i));
  }
  return rows;
}

TEST(LineReader, Lines) {
  EXPECT_THAT(lines_of(""), ElementsAre());
  EXPECT_THAT(lines_of("\n"), ElementsAre(""));
  EXPECT_THAT(lines_of("a\r\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(lines_of("\xEF\xBB\xBFx\n\xEF\xBB\xBFy"), ElementsAre("x", "\xEF\xBB\xBFy"));
  EXPECT_THAT(lines_of("a\xFF"
                       "b\n"),
              ElementsAre("a\xEF\xBF\xBD"
                          "b"));
  const std::string longer(200'000, 'x');
  EXPECT_THAT(lines_of(longer + "\n" + longer), ElementsAre(longer, longer));
}

TEST(LineReader, PlainAndGzipAlike) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "line " + std::to_string(i * i) + "\n";
  write_bytes(folder / "plain", text);
  write_gzip(folder / "packed.gz", text);
  LineReader plain(folder / "plain"), packed(folder / "packed.gz");
  std::string a, b;
  int count = 0;
  for (; plain.next(a); ++count) {
    ASSERT_TRUE(packed.next(b));
    ASSERT_EQ(a, b);
  }
  EXPECT_FALSE(packed.next(b));
  EXPECT_EQ(count, 30'000);
}

TEST(LineReader, RefusesFiles) {
  const TemporaryFolder folder;
  const auto read_all = [](const std::filesystem::path& path) {
    LineReader reader(path);
    for (std::string line; reader.next(line);) {
    }
  };
  expect_throws<FileError>([&] { read_all(folder / "none"); }, {"/none: ", "cannot be opened"});
  expect_throws<FileError>([&] { read_all(folder.path()); }, "cannot be read");
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i * 7919);
  write_gzip(folder / "whole.gz", text);
  const std::string whole = read_bytes(folder / "whole.gz");
  for (const size_t size : {size_t{12}, whole.size() / 2, whole.size() - 1}) {
    write_bytes(folder / "cut.gz", whole.substr(0, size));
    expect_throws<FileError>([&] { read_all(folder / "cut.gz"); }, {"/cut.gz: ", "cut off"});
  }
  std::string broken = whole;
  broken[whole.size() - 6] = static_cast<char>(broken[whole.size() - 6] ^ 1);  // the checksum
  write_bytes(folder / "broken.gz", broken);
  expect_throws<FileError>([&] { read_all(folder / "broken.gz"); }, {"/broken.gz: ", "check"});
}

TEST(RowReader, Tsv) {
  EXPECT_EQ(rows_of("a\tb\nx\ty\n\nz\t\"w\r\n", RowFormat::kTsv, {"b", "a"}),
            (Rows{{"y", "x"}, {"\"w", "z"}}));
  EXPECT_EQ(rows_of("x\ty\n", RowFormat::kTsv, {"1"}), (Rows{{"y"}}));
  EXPECT_EQ(rows_of("1\tb\nx\ty\n", RowFormat::kTsv, {"1"}, true), (Rows{{"x"}}));
  EXPECT_EQ(rows_of("x\ty\n", RowFormat::kTsv, {}, false), (Rows{{"x", "y"}}));
  EXPECT_EQ(rows_of("x\ty\n1\t\n", RowFormat::kTsv, {}), (Rows{{"1", ""}}));
}

TEST(RowReader, Csv) {
  const auto cells = [](const std::string& text) {
    return rows_of(text, RowFormat::kCsv, {}, false);
  };
  EXPECT_EQ(cells("a,b\r\n,\r\n"), (Rows{{"a", "b"}, {"", ""}}));
  EXPECT_EQ(cells("\"a,b\",\"c\"\"d\",\"\"\n"), (Rows{{"a,b", "c\"d", ""}}));
  EXPECT_EQ(cells("\"a\r\n\nb\",c\r\nd,e"), (Rows{{"a\r\n\nb", "c"}, {"d", "e"}}));
  EXPECT_EQ(cells("a\"b,c d"), (Rows{{"a\"b", "c d"}}));
  expect_throws<FileError>([&] { cells("x,y\n\"a\nb"); }, {"file:2: ", "not closed"});
  expect_throws<FileError>([&] { cells("\"a\"b,c"); },
                           {"file:1: ", "after a closing quote", "b,c"});
}

TEST(RowReader, Jsonl) {
  EXPECT_EQ(rows_of("{\"a\": \"x\\n\", \"b\": 2}\n\n{\"b\": true, \"a\": 1.5}", RowFormat::kJsonl,
                    {"a", "b"}),
            (Rows{{"x\n", "2"}, {"1.5", "true"}}));
  const auto refuse = [](const char* text, std::initializer_list<const char*> parts) {
    expect_throws<FileError>([&] { rows_of(text, RowFormat::kJsonl, {"text"}); }, parts);
  };
  refuse("{\"text\": 1}\n{\"test\": 2}", {"file:2: ", "no field 'text'", "nearest is 'test'"});
  refuse("{\"text\": null}", {"file:1: ", "no field 'text'"});
  refuse("{\"text\": [1]}", {"file:1: ", "a string or a number", "a list of 1"});
  refuse("[1]", {"file:1: ", "JSON object"});
  refuse("{\"text\"", {"file:1: ", "not JSON"});
}

TEST(RowReader, RefusesColumns) {
  const auto refuse = [](const char* text, const char* column, std::optional<bool> header,
                         std::initializer_list<const char*> parts) {
    expect_throws<FileError>([&] { rows_of(text, RowFormat::kTsv, {column}, header); }, parts);
  };
  refuse("text\tlabel\n", "txt", {}, {"file:1: ", "no column 'txt'", "nearest is 'text'"});
  refuse("a\tb\nx\n", "b", {}, {"file:2: ", "at least 2 columns", "found 1"});
  refuse("a\tb\nx\n", "1", {}, {"file:2: ", "at least 2 columns"});
  refuse("a\tb\n", "b", false, {"file: ", "number of a column", "'b'"});
  refuse("a\tb\n", "99999999999999999999", {}, {"no column '99999999999999999999'"});
  refuse("", "text", {}, {"file: ", "names the columns"});
}

std::string idx(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}

TEST(Idx, ReadsAndRefuses) {
  const auto read = [](const std::string& text, int rank) {
    return read_idx(bytes_of(text), "file", rank);
  };
  const IdxArray array = read(idx({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255}), 2);
  EXPECT_THAT(array.shape, ElementsAre(2, 3));
  EXPECT_THAT(array.values, ElementsAre(1, 2, 3, 4, 5, 255));
  const auto refuse = [&](const std::string& text, int rank, const char* part) {
    expect_throws<FileError>([&] { read(text, rank); }, {"file: ", part});
  };
  refuse("", 1, "header is cut off");
  refuse(idx({0, 0, 8}), 1, "header is cut off");
  refuse(idx({0, 0, 8, 1, 0, 0}), 1, "header is cut off");
  refuse(idx({0, 0, 13, 1, 0, 0, 0, 0}), 1, "found 00000d01");
  refuse(idx({0, 0, 8, 3, 0, 0, 0, 0}), 1, "rank 1 (00000801), found 00000803");
  refuse(idx({0, 0, 8, 1, 0, 0, 0, 2, 7}), 1, "expected 2 bytes after the IDX header, found 1");
  refuse(idx({0, 0, 8, 1, 0, 0, 0, 1, 7, 7}), 1, "found more");
  refuse(idx({0, 0, 8, 1, 255, 255, 255, 255, 7}), 1, "expected 4294967295 bytes");
  refuse(idx({0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}), 3,
         "larger sizes");
}

}  // namespace
}  // namespace glassformer::testing
