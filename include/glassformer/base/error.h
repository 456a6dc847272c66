#pragma once

#include <stdexcept>
#include <string>

namespace glassformer {

// Everything a user can cause is thrown as an Error. The message names the op or file, the
// argument, what was expected and what was found.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A shape, rank or size that does not fit.
class ShapeError : public Error {
 public:
  using Error::Error;
};

// An element type that does not fit.
class DTypeError : public Error {
 public:
  using Error::Error;
};

// Tensors on different devices, host access to device memory, or a device that is not there.
class DeviceError : public Error {
 public:
  using Error::Error;
};

// An option or number outside its domain.
class ValueError : public Error {
 public:
  using Error::Error;
};

// An index (token id, class, position) outside its range.
class IndexError : public Error {
 public:
  using Error::Error;
};

// No kernel for this op, device and dtype.
class UnsupportedError : public Error {
 public:
  using Error::Error;
};

// A second backward, or an in-place change of something the backward needs.
class AutogradError : public Error {
 public:
  using Error::Error;
};

// Memory that the device does not have.
class MemoryError : public Error {
 public:
  using Error::Error;
};

// A file that cannot be opened, mapped, read or written.
class FileError : public Error {
 public:
  using Error::Error;
};

// Processes of one training run that cannot reach each other.
class ExchangeError : public Error {
 public:
  using Error::Error;
};

// A bug of ours. Never reachable from a file, a request or an argument.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace glassformer
