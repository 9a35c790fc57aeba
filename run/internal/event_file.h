#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

/// Returns a record of TensorBoard's event files (TFRecord): length, its masked CRC-32C, the bytes, their masked CRC-32C.
std::string event_record(std::string_view bytes);

/// Returns the first record of a file, an Event with the version "brain.Event:2".
std::string version_event(double time);

/// Returns an Event that tells TensorBoard that the run starts again at `step`: it drops earlier events from there on.
std::string restart_event(double time, std::int64_t step);

/// Returns an Event with one scalar per name.
std::string scalar_event(double time, std::int64_t step, const std::vector<std::pair<std::string, double>>& values);

/// Returns a path in `directory` for a new event file, "events.out.tfevents.TIME.HOST.PID.NUMBER".
std::filesystem::path event_path(const std::filesystem::path& directory, double time);

/// Returns the CRC-32C (Castagnoli) of the bytes.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace heed
