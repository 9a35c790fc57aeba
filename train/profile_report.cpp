#include "train/profile_report.h"

#include "autograd/cpu/rates.h"
#include "autograd/cpu/thread_pool.h"

#include <heed/autograd/machine.h>
#include <heed/files/file.h>

#include <fmt/format.h>

#include <algorithm>

namespace heed {
namespace {

double seconds_of(const Profile::Total& total) { return std::max(static_cast<double>(total.duration), 1.0) * 1e-9; }

// Returns the memory rate that was measured on as many bytes as each call covers, or on the next larger size.
double& memory_rate(Limits& limits, const Profile::Total& total) {
  const auto above = limits.bytes.lower_bound(total.bytes / static_cast<double>(total.calls));
  return above == limits.bytes.end() ? limits.bytes.rbegin()->second : above->second;
}

double seconds_at_limit(const Profile::Total& total, Limits& limits) {
  return total.flops / limits.flops + total.bytes / memory_rate(limits, total);
}

// Raises the limits to the rates of the fastest operation: the data of a call may lie in a faster cache than the data
// of the measurement, and arithmetic overlaps with reads of memory.
Limits reached(const Profile& profile, Limits limits) {
  for (const auto& [name, total] : profile.totals()) {
    const double faster = seconds_at_limit(total, limits) / seconds_of(total);
    if (!(faster > 1)) continue;
    if (total.flops > 0) limits.flops *= faster;
    if (total.bytes > 0) memory_rate(limits, total) *= faster;
  }
  return limits;
}

}  // namespace

Limits measure_limits() {
  Limits limits;
  limits.flops = cpu::fma_rate(threads());
  for (const double bytes : {0x1p16, 0x1p20, 0x1p24, 0x1p27}) {
    limits.bytes[bytes] = cpu::memory_rate(static_cast<std::int64_t>(bytes / 3), threads());
  }
  return limits;
}

std::string profile_table(const Profile& profile, const Limits& measured) {
  Limits limits = reached(profile, measured);
  std::vector<std::pair<std::string, Profile::Total>> lines(profile.totals().begin(), profile.totals().end());
  std::sort(lines.begin(), lines.end(), [](auto& a, auto& b) { return a.second.duration > b.second.duration; });
  double all = 0;
  for (const auto& [name, total] : lines) all += static_cast<double>(total.duration) * 1e-9;
  std::string text = fmt::format(
      "\nwhere {:.3g} s went; this machine reaches {:.0f} GFLOP/s, {:.0f} to {:.0f} GB/s\n"
      "{:<28}{:>9}{:>7}{:>9}{:>9}{:>8}{:>10}\n",
      all, limits.flops / 1e9, limits.bytes.rbegin()->second / 1e9, limits.bytes.begin()->second / 1e9, "", "ms",
      "share", "calls", "GFLOP/s", "GB/s", "of limit");
  double shown = 0;
  for (const auto& [name, total] : lines) {
    const double seconds = seconds_of(total);
    if (shown > 0.995 * all) break;
    shown += seconds;
    const auto rate = [&](double count) { return count > 0 ? fmt::format("{:.1f}", count / seconds / 1e9) : "-"; };
    const double limit = seconds_at_limit(total, limits);
    text += fmt::format("{:<28}{:>9.1f}{:>5.0f} %{:>9}{:>9}{:>8}{:>10}\n", name.substr(0, 27), seconds * 1e3,
                        100 * seconds / all, total.calls, rate(total.flops), rate(total.bytes),
                        limit > 0 ? fmt::format("{:.0f} %", 100 * limit / seconds) : "-");
  }
  text += "of limit: the time at these rates, as a share of the time taken\n";
  return text;
}

void write_trace(const std::filesystem::path& path, const Profile& profile) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  const char* separator = "\n";
  for (const Profile::Work& work : profile.work()) {
    text += fmt::format(
        "{}{{\"name\":\"{}\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":{:.3f},\"dur\":{:.3f},\"args\":{{\"MFLOP\":{:.6g},"
        "\"KB\":{:.6g}}}}}",
        separator, *work.name, static_cast<double>(work.begin) * 1e-3, static_cast<double>(work.duration) * 1e-3,
        work.flops * 1e-6, work.bytes * 1e-3);
    separator = ",\n";
  }
  write_file(path, text + "\n]}\n");
}

}  // namespace heed
