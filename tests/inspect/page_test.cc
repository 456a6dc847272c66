#include "glassformer/inspect/page.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "glassformer/base/error.h"
#include "glassformer/ops/create.h"
#include "glassformer/tensor/half.h"
#include "inspect/page_codes.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace glassformer {
namespace {

std::string page_of(const Report& report) { return page_html({&report, 1}); }

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

Report report_of(const std::string& token) {
  Report report;
  report.model.name = token;
  report.sides["decoder"] = {{{1, token, 0, 1}}, token};
  report.tensors.emplace("decoder.0.self_attention.weights", from_vector<float>({1}, {1, 1, 1}));
  return report;
}

TEST(Page, SharesAreExactToAStepOfTheirRoot) {
  std::vector<float> values;
  for (int i = 0; i <= 10000; ++i) values.push_back(static_cast<float>(i) / 10000);
  values.push_back(1e-8F);
  values.push_back(1 + 1e-6F);  // as float32 may round a weight
  const auto count = static_cast<int64_t>(values.size());
  const PageCodes codes = page_codes(from_vector(values, {count}), true);
  ASSERT_EQ(codes.type, PageCodes::Type::kRoot);
  double most = 0;
  for (size_t i = 0; i < values.size(); ++i)
    most = std::max(most, std::abs(std::pow(codes.codes[i] / 65535.0, 2) - values[i]));
  EXPECT_LE(most, 1.0 / 65535);                  // measured 1.51e-05
  EXPECT_GT(codes.codes[values.size() - 2], 0);  // 1e-8 is not nothing
}

TEST(Page, OtherNumbersAreScaledHalves) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float size : {1e-20F, 1.0F, 3e5F, 1e30F}) {
    const std::vector<float> values{size, -0.3F * size, 0, -infinity, size / 7};
    const PageCodes codes = page_codes(from_vector(values, {5}), false);
    ASSERT_EQ(codes.type, PageCodes::Type::kHalf);
    for (size_t i = 0; i < values.size(); ++i) {
      Float16 half;
      half.bits = codes.codes[i];
      const float back = static_cast<float>(half) * codes.scale;
      if (std::isinf(values[i]))
        EXPECT_EQ(back, values[i]);
      else
        EXPECT_LE(std::abs(back - values[i]), std::abs(values[i]) * 0x1p-11F);
    }
  }
}

TEST(Page, WhatIsNoShareIsNotKeptAsOne) {
  for (const float value : {-0.1F, 1.1F, std::nanf("")})
    EXPECT_EQ(page_codes(from_vector<float>({0.5F, value}, {2}), true).type,
              PageCodes::Type::kHalf);
}

TEST(Page, TokensCannotLeaveTheirElement) {
  const std::string plain = page_of(report_of("token"));
  const std::string page = page_of(report_of("</script><script>&\xE2\x80\xA8\xE2\x80\xA9<!--"));
  EXPECT_EQ(count_of(page, "<script"), count_of(plain, "<script"));
  EXPECT_EQ(count_of(page, "</script"), count_of(plain, "</script"));
  EXPECT_EQ(count_of(page, "<!--"), count_of(plain, "<!--"));
  EXPECT_EQ(count_of(page, "\xE2\x80\xA8"), 0U);
  EXPECT_EQ(count_of(page, "\\u003c/script\\u003e\\u003cscript\\u003e\\u0026\\u2028\\u2029"), 3U);
}

TEST(Page, LoadsNothing) {
  const std::string page = page_of(report_of("token"));
  EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(count_of(page, "-src 'self'"), 0U);
  EXPECT_EQ(count_of(page, " src="), 0U);
  EXPECT_EQ(count_of(page, " href="), 0U);
}

TEST(Page, HoldsSeveralReportsOrAtLeastOne) {
  const std::vector<Report> reports{report_of("first"), report_of("second")};
  const std::string page = page_html(reports);
  for (const char* id : {"meta-0", "tensors-0", "tensor-0-0", "meta-1", "tensors-1", "tensor-1-0"})
    EXPECT_EQ(count_of(page, fmt::format("id=\"{}\"", id)), 1U) << id;
  EXPECT_LT(page.find("\"name\":\"first\""), page.find("\"name\":\"second\""));
  testing::expect_throws<ValueError>([] { page_html({}); }, "at least one report");
}

TEST(Page, IsWrittenWholeOrNotAtAll) {
  const testing::TemporaryFolder folder;
  const Report report = report_of("token");
  write_page({&report, 1}, folder.path() / "page.html");
  EXPECT_EQ(std::filesystem::file_size(folder.path() / "page.html"), page_of(report).size());
  testing::expect_throws<FileError>(
      [&] {
        write_page({&report, 1}, folder.path() / "no" / "page.html");
      },
      "page.html");
}

}  // namespace
}  // namespace glassformer
