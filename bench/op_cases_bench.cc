// Times every line of the case tables that has inputs for it, forward and forward + backward.

#include <string>

#include <benchmark/benchmark.h>

#include "ceilings.h"
#include "support/op_case.h"

namespace glassformer::testing {
namespace {

void forward(benchmark::State& state, const OpCase& one, DType dtype) {
  const NoGrad no_grad;
  const auto inputs = make_inputs(one.bench_inputs, 1, dtype, Device::kCpu);
  int64_t bytes = 0;
  for (const Tensor& x : inputs) bytes += x.count() * static_cast<int64_t>(size_of(x.dtype()));
  for (const Tensor& y : one.run(inputs))
    bytes += y.count() * static_cast<int64_t>(size_of(y.dtype()));
  for (auto _ : state) benchmark::DoNotOptimize(one.run(inputs));
  state.SetBytesProcessed(state.iterations() * bytes);
  // Beside what a plain copy reaches; above 1 where the tensors stay in a cache.
  static const double copy = bench::measure_copy_bandwidth() * 1e9;
  const double moved = static_cast<double>(state.iterations()) * static_cast<double>(bytes);
  state.counters["of_copy"] = benchmark::Counter(moved / copy, benchmark::Counter::kIsRate);
}

void forward_backward(benchmark::State& state, const OpCase& one, DType dtype) {
  const auto inputs = make_inputs(one.bench_inputs, 1, dtype, Device::kCpu);
  std::vector<Tensor> upstream;
  for (const Tensor& y : one.run(inputs)) upstream.push_back(ones(y.shape(), y.options()));
  for (auto _ : state) {
    backward(one.run(inputs), upstream);
    for (Tensor x : inputs) x.set_grad(Tensor());
  }
}

void add(const std::string& name, void (*run)(benchmark::State&, const OpCase&, DType),
         const OpCase& one, DType dtype) {
  benchmark::RegisterBenchmark(
      name.c_str(), [run, one, dtype](benchmark::State& state) { run(state, one, dtype); })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace glassformer::testing

int main(int argc, char** argv) {
  using namespace glassformer;
  using namespace glassformer::testing;
  for (const OpCase& one : all_op_cases()) {
    if (one.bench_inputs.empty()) continue;
    for (DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      if (dtype == DType::kBFloat16 && !one.half) continue;
      const std::string name = one.op + "/" + one.name + "/" + std::string(name_of(dtype));
      add(name + "/forward", forward, one, dtype);
      if (one.gradient) add(name + "/forward+backward", forward_backward, one, dtype);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
