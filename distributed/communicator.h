#pragma once
#include <heed/optim/gradient_reducer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed {

/// A message on its way. Its bytes must stay where they are until it is done.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Returns whether the bytes were sent or received. All messages of this process move on during the call, and may rest
  /// between calls.
  virtual bool is_done() = 0;
  /// Returns when is_done(). Leaves the processor to processes that compute.
  void wait();
};

/// The processes that train or study a model together: those that mpirun or srun started, or this one alone. A handle: copies share
/// the group.
///
///     const Communicator processes = Communicator::launched();
///     if (processes.rank() == 0) fmt::print("{} processes\n", processes.size());
///
/// A process alone needs no MPI and pays nothing. Several need a build with HEED_MPI.
///
/// When a process dies, or ends after an exception, the launcher ends the others: mpirun by itself, srun with
/// --kill-on-bad-exit=1.
///
/// All processes make the same calls in the same order. One thread at a time makes them.
class Communicator {
 public:
  /// This process alone.
  Communicator() = default;
  /// Returns the processes that were started together, by mpirun or srun; this process alone when it was started alone. Call
  /// it once, before threads start. Several share the processors of a host: each gets as many threads(), unless OMP_NUM_THREADS
  /// or a later set_threads() says another number. Throws Error when several were started and heed was built without MPI.
  static Communicator launched();

  int rank() const;          ///< the number of this process, from 0
  int size() const;          ///< the number of processes
  int size_on_host() const;  ///< the number of processes on this process's host
  /// Returns how messages call a process: "rank 2 of 4 on host b".
  std::string name(int rank) const;

  /// Begin to send bytes to, and to receive as many from, another process. Messages of one channel between two processes arrive
  /// in the order in which they were sent. The receiver takes them in that order. Channels have numbers from 0 to 32,767.
  [[nodiscard]] std::unique_ptr<Transfer> send(std::span<const std::byte> bytes, int to, int channel = 0) const;
  /// Begins to receive.
  [[nodiscard]] std::unique_ptr<Transfer> receive(std::span<std::byte> bytes, int from, int channel = 0) const;

  /// Gives each process the bytes that rank 0 has.
  void broadcast(std::span<std::byte> bytes) const;
  /// Returns the texts of all processes, by rank.
  std::vector<std::string> exchange(std::string_view text) const;
  /// Returns the numbers of all processes: first those of rank 0.
  std::vector<double> gather(std::span<const double> numbers) const;
  /// Returns whether the flag is set on any process.
  bool any(bool flag) const;

  /// Ends this process and all others, after an error that only this one may have met: writes `error` with this process's name to
  /// standard error. On rank 0 it does nothing: throw the error there.
  void report(const std::string& error, int exit_code) const;

 private:
  struct Group;
  std::shared_ptr<Group> group_;  // null: alone
};

/// Returns the rank that works on `index` of [0, count).
int owner_of(std::int64_t index, std::int64_t count, int size);

}  // namespace heed
