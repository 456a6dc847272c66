#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "glassformer/tensor/device.h"

namespace glassformer {

// Bytes on one device, shared by the tensors that view them.
class Storage {
  struct Key {
    explicit Key() = default;
  };

 public:
  // Uninitialised memory from the device's caching allocator, 64-byte aligned.
  // What is `lasting` takes no larger block than it needs. Throws DeviceError where the device is
  // not there and MemoryError where the memory is not.
  static std::shared_ptr<Storage> allocate(Device device, size_t bytes, bool lasting = false);

  // Host memory of the caller's, kept alive by `owner`.
  static std::shared_ptr<Storage> wrap(void* data, size_t bytes, std::shared_ptr<const void> owner,
                                       bool writable);

  // A file mapped read-only; nothing is read until it is touched. Throws FileError.
  static std::shared_ptr<Storage> map_file(const std::filesystem::path& path);

  Storage(Key, Device device, std::byte* data, size_t bytes, bool writable);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // For kernels: an address on `device()`. Elsewhere go through Tensor::data.
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  bool writable() const { return writable_; }

  // Between host memory and this, `at` bytes from its start, on any device.
  void copy_in(size_t at, const void* host, size_t bytes);
  void copy_out(void* host, size_t at, size_t bytes) const;

  // Counts in-place changes, so that a backward can tell that something it saved was changed.
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

  // Of a mapped file: lets the system take back the pages that lie within these bytes, which are
  // read again when they are touched. For numbers that were copied elsewhere. Nothing otherwise.
  void give_back_pages(size_t at, size_t bytes) const;

  // Makes the memory reachable while a kernel runs. It always is, but for `ref` in debug builds.
  void open() const;
  void close() const noexcept;
  static bool closes(Device device) { return device == Device::kRef; }

 private:
  Device device_;
  bool writable_;
  bool from_allocator_ = false, mapped_ = false;
  std::byte* data_;
  size_t bytes_;
  std::atomic<uint32_t> version_{0};
  std::shared_ptr<const void> owner_;
};

}  // namespace glassformer
