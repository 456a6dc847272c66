#pragma once

#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/fixture_tensor.h"

namespace glassformer::testing {

// Where a fixture is run, and the distance() from its values that is allowed there.
struct FixtureSetting {
  Device device;
  DType dtype;
  double tolerance;
};

// The inputs of one PyTorch fixture. Those it has a gradient for require one.
class FixtureInputs {
 public:
  FixtureInputs(const Fixture& fixture, const FixtureSetting& setting) {
    for (const auto& name : fixture.meta_json("inputs")) {
      Tensor x = fixture_tensor(fixture, name, setting.dtype, setting.device);
      if (fixture.has("grad_" + name.get<std::string>())) x.set_requires_grad();
      tensors_[name] = x;
    }
  }
  // Undefined where the fixture has no such input.
  Tensor operator()(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? Tensor() : found->second;
  }

 private:
  std::map<std::string, Tensor> tensors_;
};

// Every fixture of a family: run(fixture, inputs) gives `output`; it and every gradient must be
// within the tolerance.
using RunFixture = std::function<Tensor(const Fixture&, const FixtureInputs&)>;
inline void expect_torch_fixtures(const std::string& prefix, const FixtureSetting& setting,
                                  const RunFixture& run) {
  for (const auto& path : Fixture::list("torch", prefix)) {
    const Fixture fixture = Fixture::load(path);
    SCOPED_TRACE(fixture.name() + " on " + std::string(name_of(setting.device)));
    const FixtureInputs inputs(fixture, setting);
    const Tensor output = run(fixture, inputs);
    EXPECT_LE(distance(output.to_vector<double>(), fixture.doubles("output")), setting.tolerance);
    backward({output}, {reshape(inputs("grad_output"), output.shape())});
    for (const auto& name : fixture.meta_json("gradients")) {
      const std::string input = name.get<std::string>().substr(5);
      ASSERT_TRUE(inputs(input).grad().defined()) << name;
      EXPECT_LE(distance(inputs(input).grad().to_vector<double>(), fixture.doubles(name)),
                setting.tolerance)
          << name;
    }
  }
}

}  // namespace glassformer::testing
