#pragma once
#include <heed/autograd/profile.h>

#include <filesystem>
#include <string>

namespace heed {

/// The peak rates of this machine, measured in a fifth of a second.
struct Limits {
  double flops = 0;                  // per second, in registers
  std::map<double, double> bytes{};  // per second, by the number of bytes that one pass covers
};
Limits measure_limits();

/// Returns a table of the time spent, with a line for each kind of work: time, calls, rates, and the time at peak rates
/// as a share of the time taken. Peak rates are `limits`, or the rates of the fastest operation if these are higher, so
/// that all shares are at most 100 %. 80 columns.
std::string profile_table(const Profile& profile, const Limits& limits);

/// Writes the profile for chrome://tracing and ui.perfetto.dev ("Trace Event Format"), the whole file or nothing.
void write_trace(const std::filesystem::path& path, const Profile& profile);

}  // namespace heed
