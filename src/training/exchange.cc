#include "glassformer/training/exchange.h"

#include <cstdlib>

#include "base/check.h"
#include "training/mpi_exchange.h"

namespace glassformer {
namespace {

class SingleProcess : public GradientExchange {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void start_sum(Tensor& gradient) override { check_summable(gradient); }
  void start_broadcast(Tensor& value, int root) override { check_exchanged(value, root, 1); }
  void wait() override {}
  double sum(double value) override { return value; }
  void barrier() override {}
};

}  // namespace

void check_exchanged(const Tensor& value, int root, int ranks) {
  require<DeviceError>(value.device() == Device::kCpu,
                       "exchange: expected a tensor on the {}, found {}", name_of(Device::kCpu),
                       name_of(value.device()));
  require<ValueError>(value.is_contiguous(),
                      "exchange: expected a contiguous tensor, found a view");
  require<ValueError>(root >= 0 && root < ranks, "exchange: expected a root below {}, found {}",
                      ranks, root);
}

void check_summable(const Tensor& gradient) {
  check_exchanged(gradient, 0, 1);
  const DType dtype = gradient.dtype();
  require<DTypeError>(
      dtype == DType::kFloat32 || dtype == DType::kBFloat16 || dtype == DType::kFloat64,
      "exchange: expected a gradient of float32, bfloat16 or float64, found {}", name_of(dtype));
}

std::unique_ptr<GradientExchange> make_exchange() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name) != nullptr) return make_mpi_exchange();
  return std::make_unique<SingleProcess>();
}

}  // namespace glassformer
