#include "glassformer/tensor/storage.h"

#include "base/check.h"
#include "base/mapped_file.h"
#include "tensor/memory_backend.h"

namespace glassformer {

Storage::Storage(Key /*made here alone*/, Device device, std::byte* data, size_t bytes,
                 bool writable)
    : device_(device), writable_(writable), data_(data), bytes_(bytes) {}

std::shared_ptr<Storage> Storage::allocate(Device device, size_t bytes, bool lasting) {
  void* data = cached_allocate(device, bytes, lasting);
  auto storage = std::make_shared<Storage>(Key(), device, static_cast<std::byte*>(data), bytes,
                                           /*writable=*/true);
  storage->from_allocator_ = true;
  return storage;
}

std::shared_ptr<Storage> Storage::wrap(void* data, size_t bytes, std::shared_ptr<const void> owner,
                                       bool writable) {
  auto storage = std::make_shared<Storage>(Key(), Device::kCpu, static_cast<std::byte*>(data),
                                           bytes, writable);
  storage->owner_ = std::move(owner);
  return storage;
}

std::shared_ptr<Storage> Storage::map_file(const std::filesystem::path& path) {
  auto file = std::make_shared<MappedFile>(path);
  std::shared_ptr<Storage> storage = wrap(file->data(), file->bytes(), file, /*writable=*/false);
  storage->mapped_ = true;
  return storage;
}

Storage::~Storage() {
  if (from_allocator_) cached_release(device_, data_, bytes_);
}

void Storage::copy_in(size_t at, const void* host, size_t bytes) {
  internal_check(at <= bytes_ && bytes <= bytes_ - at, "copy_in outside the storage");
  open();
  memory_backend(device_).copy_in(data_ + at, host, bytes);
  close();
}

void Storage::copy_out(void* host, size_t at, size_t bytes) const {
  internal_check(at <= bytes_ && bytes <= bytes_ - at, "copy_out outside the storage");
  open();
  memory_backend(device_).copy_out(host, data_ + at, bytes);
  close();
}

void Storage::give_back_pages(size_t at, size_t bytes) const {
  internal_check(at <= bytes_ && bytes <= bytes_ - at, "give_back_pages outside the storage");
  if (mapped_) give_back_mapped_pages(data_, bytes_, at, bytes);
}

void Storage::open() const {
  if (closes(device_)) open_ref_memory(data_, bytes_);
}

void Storage::close() const noexcept {
  if (closes(device_)) close_ref_memory(data_, bytes_);
}

}  // namespace glassformer
