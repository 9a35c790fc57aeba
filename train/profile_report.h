#pragma once
#include <heed/autograd/profile.h>

#include <filesystem>
#include <string>

namespace heed {

// What this machine reaches, measured in a fifth of a second.
struct Limits {
  double flops = 0;                  // a second, in registers
  std::map<double, double> bytes{};  // a second, by the bytes that one pass goes through
};
Limits measure_limits();

/// Returns where the time went, a line for each kind of work: time, calls, rates, and the time at the rates that this machine
/// reaches as a share of the time taken. These rates are `limits`, or what an operation reached where it was faster, so that
/// no share is above 100 %. 80 columns.
std::string profile_table(const Profile& profile, const Limits& limits);

// For chrome://tracing and ui.perfetto.dev ("Trace Event Format"). Whole or not at all.
void write_trace(const std::filesystem::path& path, const Profile& profile);

}  // namespace heed
