#pragma once

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glassformer::testing {

// f() throws E, and its message contains `text`.
template <class E, class F>
void expect_throws(F&& f, const std::string& text) {
  try {
    f();
    ADD_FAILURE() << "expected an exception with \"" << text << "\"";
  } catch (const E& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(text));
  }
}

}  // namespace glassformer::testing
