#pragma once

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glassformer::testing {

// Expects run() to throw an E whose message has every one of `parts`.
template <class E, class F>
void expect_throws(F&& run, std::initializer_list<const char*> parts) {
  try {
    run();
  } catch (const E& error) {
    for (const char* part : parts)
      EXPECT_THAT(std::string(error.what()), ::testing::HasSubstr(part));
    return;
  } catch (const std::exception& error) {
    FAIL() << "threw another type: " << error.what();
  }
  FAIL() << "threw nothing";
}
template <class E, class F>
void expect_throws(F&& run, const char* part) {
  expect_throws<E>(run, {part});
}

}  // namespace glassformer::testing
