#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace glassformer {

// A non-owning reference to a callable: one indirect call, no allocation.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(F&& f)  // NOLINT(bugprone-forwarding-reference-overload): see the constraint
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(args...);
        }) {}
  R operator()(Args... args) const { return call_(object_, args...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// The one thread pool. Both run on the calling thread alone when they are nested or when there is
// one thread or one piece of work; an exception in a body is rethrown to the caller after the rest
// has finished.

// body(i) for every i in [0, count), handed out one at a time: for tasks of unequal cost.
void parallel_tasks(int64_t count, FunctionRef<void(int64_t)> body);

// body(begin, end) over contiguous ranges that cover [0, count), none smaller than `grain` unless
// what is left is: for even work over memory. Each thread has a share of its own, in a few pieces,
// and then helps the others.
void parallel_ranges(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

// body(worker, workers) once on each thread: for kernels that hand out their own work. Inside,
// `workers` may be 1.
void parallel_workers(int wanted, FunctionRef<void(int, int)> body);
// The most workers it would have here.
int team_size(int wanted);

// What the calling worker will probably read next, kMostPiecesAhead at most, the first of them
// first: from the end of its body on, while it waits for the next ones, it brings that into its
// second-level cache. It holds a piece until it has read it, some 0.1 ms at most. A piece that was
// asked for the last time too goes on where it was.
struct PieceAhead {
  std::shared_ptr<const std::byte> memory;
  size_t bytes = 0;
};
inline constexpr size_t kMostPiecesAhead = 4;
void fetch_while_waiting(std::span<const PieceAhead> pieces);

}  // namespace glassformer
