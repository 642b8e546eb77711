#include "lessons/grader/judge/elsewhere.hpp"

#ifndef __EMSCRIPTEN__
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#endif

#include <vector>

#include "core/simd/runtime/threads.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/error.hpp"

namespace tapestry::grader {

namespace {

/// Returns a tensor as numbers: its rank, its sizes and its values.
std::vector<double> as_numbers(const Tensor& tensor) {
  std::vector<double> numbers{static_cast<double>(tensor.rank())};
  for (const Size size : tensor.shape()) numbers.push_back(static_cast<double>(size));
  const std::vector<double> values = tensor.to(DType::f64).to_vector();
  numbers.insert(numbers.end(), values.begin(), values.end());
  return numbers;
}

Tensor from_numbers(const std::vector<double>& numbers) {
  const int rank = static_cast<int>(numbers[0]);
  Dims shape = Dims::filled(rank, 0);
  for (int i = 0; i < rank; ++i) shape[i] = static_cast<Size>(numbers[static_cast<std::size_t>(i) + 1]);
  return tensor(std::vector<double>(numbers.begin() + rank + 1, numbers.end()), shape, DType::f64);
}

}  // namespace

#ifdef __EMSCRIPTEN__

// Functions of the host (lessons/web/practise/host.mjs).
#define TAPESTRY_HOST(name) __attribute__((import_module("tapestry"), import_name(name)))
extern "C" {
/// Copies the memory.
TAPESTRY_HOST("save_memory") void tapestry_save_memory();
/// Copies `count` numbers, then restores the memory of the last tapestry_save_memory(). Returns `count`.
TAPESTRY_HOST("restore_memory") int tapestry_restore_memory(const double* numbers, int count);
/// Writes the numbers of the last tapestry_restore_memory().
TAPESTRY_HOST("read_saved") void tapestry_read_saved(double* numbers);
}

namespace {

/// Returns how many numbers the host has; 0 if f throws. Nothing here may be destroyed after the memory is restored, so
/// the numbers are on the heap, which the host restores too.
[[gnu::noinline]] int save_numbers_of(const std::function<Tensor()>& f) {
  tapestry_save_memory();
  const std::vector<double>* numbers = nullptr;
  try {
    numbers = new std::vector<double>(as_numbers(f()));
  } catch (...) {
  }
  return tapestry_restore_memory(numbers != nullptr ? numbers->data() : nullptr,
                                 numbers != nullptr ? static_cast<int>(numbers->size()) : 0);
}

}  // namespace

std::optional<Tensor> call_in_copy(const std::function<Tensor()>& f) {
  const int count = save_numbers_of(f);
  if (count == 0) return {};
  std::vector<double> numbers(static_cast<std::size_t>(count));
  tapestry_read_saved(numbers.data());
  return from_numbers(numbers);
}

#else

namespace {

bool write_all(int file, const void* data, std::size_t bytes) {
  for (const char* at = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t count = write(file, at, bytes);
    if (count <= 0) return false;
    at += count, bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

bool read_all(int file, void* data, std::size_t bytes) {
  for (char* at = static_cast<char*>(data); bytes > 0;) {
    const ssize_t count = read(file, at, bytes);
    if (count <= 0) return false;
    at += count, bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

/// Calls f in the forked process, sends the numbers of its tensor, and ends the process.
[[noreturn]] void answer_from_child(const std::function<Tensor()>& f, int file) {
  try {
    const std::vector<double> numbers = as_numbers(f());
    const std::size_t count = numbers.size();
    _exit(write_all(file, &count, sizeof count) && write_all(file, numbers.data(), count * sizeof(double))
              ? 0
              : 1);
  } catch (...) {
    _exit(1);
  }
}

}  // namespace

std::optional<Tensor> call_in_copy(const std::function<Tensor()>& f) {
  int ends[2];
  if (pipe(ends) != 0) fail("cannot open a pipe: {}", std::strerror(errno));
  const int threads = simd::thread_count();
  simd::set_thread_count(1);  // a forked child does not have its parent's threads
  const pid_t child = fork();
  if (child < 0) fail("cannot start a process: {}", std::strerror(errno));
  if (child == 0) {
    close(ends[0]);
    answer_from_child(f, ends[1]);
  }
  close(ends[1]);
  simd::set_thread_count(threads);
  std::size_t count = 0;
  bool whole = read_all(ends[0], &count, sizeof count);
  std::vector<double> numbers(whole ? count : 0);
  whole = whole && read_all(ends[0], numbers.data(), count * sizeof(double));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!whole) return {};
  return from_numbers(numbers);
}

#endif

}  // namespace tapestry::grader
