// The peak memory of a piece of work above what was there before.
#pragma once

#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

namespace tapestry::bench {

/// MiB from /proc/self/status.
inline double resident(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;) {
    double kibibytes = 0;
    if (name == field + ":" && status >> kibibytes) return kibibytes / 1024;
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  throw std::runtime_error("/proc/self/status has no " + field);
}

/// What `run` takes above what is resident now, in MiB.
template <class Run>
double peak_of(const Run& run) {
  std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM starts again from here
  const double before = resident("VmRSS");
  run();
  return resident("VmHWM") - before;
}

}  // namespace tapestry::bench
