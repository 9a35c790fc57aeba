#pragma once
#include "distributed/communicator.h"

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace heed {

/// The exchange of bytes between several processes.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int size_on_host() const = 0;
  virtual std::string host() const = 0;
  virtual std::unique_ptr<Transfer> send(std::span<const std::byte> bytes, int to, int channel) = 0;
  virtual std::unique_ptr<Transfer> receive(std::span<std::byte> bytes, int from, int channel) = 0;
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  virtual std::vector<std::string> exchange(std::string_view text) = 0;
  // Ends the exchange on all processes. Without it, as after an error, the destructor leaves the library as it is.
  virtual void finish() = 0;
  // Ends all processes.
  virtual void abort(int exit_code) = 0;
};

/// Waits for other processes until `is_done` returns true, without keeping a processor from those that compute: an MPI library's
/// own wait may spin for ever.
template <class Condition>
void await(const Condition& is_done) {
  for (int turn = 0; !is_done(); ++turn) {
    if (turn > 20000) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    } else if (turn > 200) {
      std::this_thread::yield();
    }
  }
}

/// Joins the processes that MPI's launcher started. Only in a build with HEED_MPI.
std::unique_ptr<Transport> connect_mpi();

/// Returns the version of the MPI library: "Open MPI v4.1.4".
std::string mpi_version();

}  // namespace heed
