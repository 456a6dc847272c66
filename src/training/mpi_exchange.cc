#include "training/mpi_exchange.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#define OMPI_SKIP_MPICXX  // the C++ classes of old, which would need a library more
#include <mpi.h>

#include "base/check.h"
#include "glassformer/tensor/half.h"
#include "training/job_queue.h"

namespace glassformer {
namespace {

constexpr int64_t kBucketBytes = int64_t{1} << 20;   // gradients go together until they are so many
constexpr int64_t kMessageBytes = int64_t{4} << 20;  // and come apart where they are more

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw ExchangeError(
      fmt::format("{}: {}", call, std::string_view(text.data(), static_cast<size_t>(length))));
}

std::byte* bytes_of(const Tensor& tensor) {
  return tensor.storage()->data() + static_cast<size_t>(tensor.offset()) * size_of(tensor.dtype());
}
int64_t byte_count(const Tensor& tensor) {
  return tensor.count() * static_cast<int64_t>(size_of(tensor.dtype()));
}

// out[i] = ((received[0][i] + received[1][i]) + …), received: [ranks, count]; T is summed as Wide.
template <class T, class Wide>
void sum_in_order(const std::byte* received, int ranks, int64_t count, std::byte* out) {
  const T* in = reinterpret_cast<const T*>(received);
  T* result = reinterpret_cast<T*>(out);
  constexpr int64_t kBlock = 1024;
  std::array<Wide, kBlock> total;
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t many = std::min(kBlock, count - first);
    for (int64_t i = 0; i < many; ++i) total[static_cast<size_t>(i)] = Wide(in[first + i]);
    for (int rank = 1; rank < ranks; ++rank) {
      const T* next = in + rank * count + first;
      for (int64_t i = 0; i < many; ++i) total[static_cast<size_t>(i)] += Wide(next[i]);
    }
    for (int64_t i = 0; i < many; ++i) result[first + i] = T(total[static_cast<size_t>(i)]);
  }
}

void sum_in_order(DType dtype, const std::byte* received, int ranks, int64_t count,
                  std::byte* out) {
  if (dtype == DType::kFloat64) return sum_in_order<double, double>(received, ranks, count, out);
  if (dtype == DType::kBFloat16) return sum_in_order<BFloat16, float>(received, ranks, count, out);
  sum_in_order<float, float>(received, ranks, count, out);
}

// The calls of MPI, all made by one thread.
class Communicator {
 public:
  void start() {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &all_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(all_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(all_, &rank_);
    MPI_Comm_size(all_, &size_);
    counts_.resize(static_cast<size_t>(size_));
    starts_ = own_counts_ = own_starts_ = counts_;
  }
  void finish() {
    MPI_Comm_free(&all_);
    MPI_Finalize();
  }
  int rank() const { return rank_; }
  int size() const { return size_; }

  // Gradients of one dtype, as if they lay next to each other.
  void sum(const std::vector<Tensor>& gradients) {
    if (gradients.size() == 1)
      return sum(bytes_of(gradients[0]), byte_count(gradients[0]), gradients[0].dtype());
    int64_t total = 0;
    for (const Tensor& gradient : gradients) total += byte_count(gradient);
    joined_.resize(static_cast<size_t>(total));
    std::byte* at = joined_.data();
    for (const Tensor& gradient : gradients)
      at = std::copy_n(bytes_of(gradient), byte_count(gradient), at);
    sum(joined_.data(), total, gradients[0].dtype());
    at = joined_.data();
    for (const Tensor& gradient : gradients) {
      std::copy_n(at, byte_count(gradient), bytes_of(gradient));
      at += byte_count(gradient);
    }
  }

  void broadcast(const Tensor& value, int root) {
    std::byte* data = bytes_of(value);
    const int64_t bytes = byte_count(value);
    for (int64_t first = 0; first < bytes; first += kMessageBytes)
      check(MPI_Bcast(data + first, static_cast<int>(std::min(kMessageBytes, bytes - first)),
                      MPI_BYTE, root, all_),
            "MPI_Bcast");
  }

  double sum(double value) {
    std::vector<double> values(static_cast<size_t>(size_));
    check(MPI_Allgather(&value, 1, MPI_DOUBLE, values.data(), 1, MPI_DOUBLE, all_),
          "MPI_Allgather");
    double total = 0;
    for (const double each : values) total += each;
    return total;
  }

  void barrier() { check(MPI_Barrier(all_), "MPI_Barrier"); }

 private:
  void sum(std::byte* data, int64_t bytes, DType dtype) {
    for (int64_t first = 0; first < bytes; first += kMessageBytes)
      sum_message(data + first, std::min(kMessageBytes, bytes - first), dtype);
  }

  // Each rank is sent its slice of everyone's numbers, sums them in order and sends the sums to
  // all: MPI_Allreduce would leave the order to the library, and knows no bfloat16.
  void sum_message(std::byte* data, int64_t bytes, DType dtype) {
    const auto element = static_cast<int64_t>(size_of(dtype));
    const int64_t count = bytes / element;
    int start = 0;
    for (int r = 0; r < size_; ++r) {
      const int64_t slice = count / size_ + (r < count % size_ ? 1 : 0);
      counts_[static_cast<size_t>(r)] = static_cast<int>(slice * element);
      starts_[static_cast<size_t>(r)] = start;
      start += counts_[static_cast<size_t>(r)];
    }
    const int own = counts_[static_cast<size_t>(rank_)];
    for (int r = 0; r < size_; ++r) {
      own_counts_[static_cast<size_t>(r)] = own;
      own_starts_[static_cast<size_t>(r)] = r * own;
    }
    received_.resize(static_cast<size_t>(own) * static_cast<size_t>(size_));
    check(MPI_Alltoallv(data, counts_.data(), starts_.data(), MPI_BYTE, received_.data(),
                        own_counts_.data(), own_starts_.data(), MPI_BYTE, all_),
          "MPI_Alltoallv");
    sum_in_order(dtype, received_.data(), size_, own / element,
                 data + starts_[static_cast<size_t>(rank_)]);
    check(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, data, counts_.data(), starts_.data(), MPI_BYTE,
                         all_),
          "MPI_Allgatherv");
  }

  MPI_Comm all_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<int> counts_, starts_, own_counts_, own_starts_;  // in bytes, of each rank
  std::vector<std::byte> joined_, received_;
};

class MpiExchange : public GradientExchange {
 public:
  MpiExchange() : exceptions_(std::uncaught_exceptions()) {
    run([](Communicator& mpi) { mpi.start(); });
  }
  // Where a call failed or an exception is on its way the others wait for calls that never come.
  ~MpiExchange() override {
    if (jobs_.failed() || std::uncaught_exceptions() > exceptions_)
      jobs_.abandon();
    else
      jobs_.post([mpi = mpi_] { mpi->finish(); });
  }

  int rank() const override { return mpi_->rank(); }
  int size() const override { return mpi_->size(); }

  void start_sum(Tensor& gradient) override {
    check_summable(gradient);
    check_writable(gradient);
    if (!bucket_.empty() && bucket_.front().dtype() != gradient.dtype()) send_bucket();
    bucket_.push_back(gradient);
    bucket_bytes_ += byte_count(gradient);
    if (bucket_bytes_ >= kBucketBytes) send_bucket();
  }

  void start_broadcast(Tensor& value, int root) override {
    check_exchanged(value, root, size());
    if (root != rank()) check_writable(value);
    send_bucket();
    jobs_.post([mpi = mpi_, value, root] { mpi->broadcast(value, root); });
  }

  void wait() override {
    send_bucket();
    jobs_.wait();
  }

  double sum(double value) override {
    double total = 0;
    run([&](Communicator& mpi) { total = mpi.sum(value); });
    return total;
  }

  void barrier() override {
    run([](Communicator& mpi) { mpi.barrier(); });
  }

 private:
  static void check_writable(Tensor& value) {
    require<ValueError>(value.storage()->writable(),
                        "exchange: expected memory that can be written, found a mapped file");
    value.storage()->bump_version();
  }

  template <class Call>
  void run(const Call& call) {
    send_bucket();
    jobs_.post([mpi = mpi_, &call] { call(*mpi); });
    jobs_.wait();
  }

  void send_bucket() {
    bucket_bytes_ = 0;
    if (bucket_.empty()) return;
    jobs_.post([mpi = mpi_, bucket = std::exchange(bucket_, {})] { mpi->sum(bucket); });
  }

  int exceptions_;  // that were on their way when it was made
  std::shared_ptr<Communicator> mpi_ = std::make_shared<Communicator>();
  std::vector<Tensor> bucket_;
  int64_t bucket_bytes_ = 0;
  JobQueue jobs_;
};

}  // namespace

std::unique_ptr<GradientExchange> make_mpi_exchange() {
  int before = 0;
  MPI_Initialized(&before);
  require<ValueError>(
      before == 0,
      "exchange: expected the first one of this process, found that MPI was started "
      "before");
  // The thread that waits for messages shares its core with those that compute: measured with two
  // processes on two cores, a second of products beside sums of 96 MB took 1.15 s so, and 1.7 s
  // where it spins.
  setenv("OMPI_MCA_mpi_yield_when_idle", "1", /*overwrite=*/0);
  return std::make_unique<MpiExchange>();
}

}  // namespace glassformer
