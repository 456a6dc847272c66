#pragma once

#include <memory>

#include "glassformer/tensor/tensor.h"

namespace glassformer {

// What the processes of one training run tell each other. Every process makes the same calls in the
// same order. Sums are taken in the order of the ranks, ((x₀ + x₁) + x₂) + …, bfloat16 ones in
// float32: all ranks get the same bits, and the same number of ranks gets them again.
//
// What shards the state of an optimiser sums every gradient, lets the owner of a parameter update
// it, and then starts a broadcast of each from its owner.
class GradientExchange {
 public:
  virtual ~GradientExchange() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Starts to replace `gradient` by its sum over all ranks while the caller goes on; nobody may
  // touch it before wait(). Contiguous float32, bfloat16 or float64 on the cpu: throws DTypeError,
  // DeviceError or ValueError for another.
  virtual void start_sum(Tensor& gradient) = 0;
  // Starts to replace `value` (contiguous, on the cpu) by that of rank `root`.
  virtual void start_broadcast(Tensor& value, int root) = 0;
  // Until everything that was started is done. Throws ExchangeError for what failed.
  virtual void wait() = 0;

  virtual double sum(double value) = 0;
  virtual void barrier() = 0;

  void broadcast(Tensor& value, int root) { start_broadcast(value, root), wait(); }
  bool any(bool value) { return sum(value ? 1 : 0) > 0; }
};

// Between the processes that mpirun has started; alone, and free of cost, where it has not. Once in
// a process: MPI does not start again after the exchange has gone. An exchange that goes because of
// an exception leaves the others to mpirun, which ends them when this process fails.
std::unique_ptr<GradientExchange> make_exchange();

}  // namespace glassformer
