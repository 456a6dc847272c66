#pragma once

#include <cstddef>

#include "glassformer/tensor/device.h"

namespace glassformer {

// What a device must offer for its memory to be used: a few plain functions. `ref` and `cpu` are
// built in; another backend registers its own.
struct MemoryBackend {
  void* (*allocate)(size_t bytes) = nullptr;  // null when there is none left
  void (*release)(void* data, size_t bytes) noexcept = nullptr;
  void (*copy_in)(void* device, const void* host, size_t bytes) = nullptr;
  void (*copy_out)(void* host, const void* device, size_t bytes) = nullptr;
};

void register_memory(Device device, const MemoryBackend& backend);
const MemoryBackend& memory_backend(Device device);  // throws DeviceError where there is none

// The caching allocator over a backend. Blocks come in four sizes an octave.
void* cached_allocate(Device device, size_t bytes, bool lasting);
void cached_release(Device device, void* data, size_t bytes) noexcept;

// True in builds that protect `ref` memory outside kernels.
bool ref_memory_is_protected();
void open_ref_memory(const void* data, size_t bytes);
void close_ref_memory(const void* data, size_t bytes) noexcept;

}  // namespace glassformer
