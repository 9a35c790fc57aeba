#include "distributed/communicator.h"

#include "distributed/internal/transport.h"

#include <heed/autograd/error.h>
#include <heed/autograd/machine.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <thread>
#include <unistd.h>

namespace heed {
namespace {

std::optional<int> number_of_environment(const char* name) {
  const char* const text = std::getenv(name);
  return text ? std::optional(std::atoi(text)) : std::nullopt;
}

// Returns how many processes a launcher started, as far as it says so: a lower bound. Returns nothing without a
// launcher.
std::optional<int> launched_processes() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"}) {
    if (const std::optional<int> size = number_of_environment(name)) return size;
  }
  if (const std::optional<int> rank = number_of_environment("PMIX_RANK")) return std::max(2, *rank + 1);
  return {};
}

}  // namespace

struct Communicator::Group {
  explicit Group(std::unique_ptr<Transport> by) : transport(std::move(by)) {
    names = transport->exchange(transport->host());
    for (std::size_t r = 0; r < names.size(); ++r) {
      names[r] = fmt::format("rank {} of {} on host {}", r, names.size(), names[r]);
    }
  }
  // After an error the process ends without MPI_Finalize(), and the launcher ends the others.
  ~Group() {
    if (std::uncaught_exceptions() > 0) return;
    try {
      transport->exchange("");  // all processes have done their work
      transport->finish();
    } catch (const std::exception&) {
    }
  }
  std::unique_ptr<Transport> transport;
  std::vector<std::string> names;
};

Communicator Communicator::launched() {
  const std::optional<int> count = launched_processes();
  if (!count || *count == 1) return {};
#if defined(HEED_MPI)
  auto transport = connect_mpi();
  if (transport->size() < *count) {
    fail("started as one of {} processes, of which {} sees {}; start it with the mpirun of that library", *count,
         mpi_version(), transport->size());
  }
  if (!std::getenv("OMP_NUM_THREADS")) {
    const auto of_host = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    set_threads(std::clamp(of_host / transport->size_on_host(), 1, threads()));
  }
  Communicator processes;
  processes.group_ = std::make_shared<Group>(std::move(transport));
  return processes;
#else
  fail(
      "started as one of {} processes, but built without MPI: each would do all the work. Build heed with the "
      "preset mpi, or start one process",
      *count);
#endif
}

int Communicator::rank() const { return group_ ? group_->transport->rank() : 0; }
int Communicator::size() const { return group_ ? group_->transport->size() : 1; }
int Communicator::size_on_host() const { return group_ ? group_->transport->size_on_host() : 1; }

std::string Communicator::name(int rank) const {
  return group_ ? group_->names.at(static_cast<std::size_t>(rank)) : "rank 0 of 1";
}

void Transfer::wait() {
  await([this] { return is_done(); });
}

std::unique_ptr<Transfer> Communicator::send(std::span<const std::byte> bytes, int to, int channel) const {
  if (to < 0 || to >= size() || to == rank()) fail("send: rank {} cannot send to rank {} of {}", rank(), to, size());
  return group_->transport->send(bytes, to, channel);
}

std::unique_ptr<Transfer> Communicator::receive(std::span<std::byte> bytes, int from, int channel) const {
  if (from < 0 || from >= size() || from == rank()) {
    fail("receive: rank {} cannot receive from rank {} of {}", rank(), from, size());
  }
  return group_->transport->receive(bytes, from, channel);
}

void Communicator::broadcast(std::span<std::byte> bytes) const {
  if (group_) group_->transport->broadcast(bytes);
}

std::vector<std::string> Communicator::exchange(std::string_view text) const {
  return group_ ? group_->transport->exchange(text) : std::vector<std::string>{std::string(text)};
}

std::vector<double> Communicator::gather(std::span<const double> numbers) const {
  if (!group_) return {numbers.begin(), numbers.end()};
  std::vector<double> all;
  for (const std::string& part : exchange({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()})) {
    const std::size_t before = all.size();
    all.resize(before + part.size() / sizeof(double));
    std::memcpy(all.data() + before, part.data(), part.size());
  }
  return all;
}

bool Communicator::any(bool flag) const {
  if (!group_) return flag;
  return std::ranges::any_of(exchange(flag ? "1" : "0"), [](const std::string& each) { return each == "1"; });
}

void Communicator::report(const std::string& error, int exit_code) const {
  if (rank() == 0) return;
  std::this_thread::sleep_for(std::chrono::seconds(2));  // an error of all processes: rank 0 tells it and ends this one
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, visible(name(rank()) + ": " + error).c_str());
  group_->transport->abort(exit_code);
}

int owner_of(std::int64_t index, std::int64_t count, int size) {
  return static_cast<int>(((index + 1) * size - 1) / count);
}

}  // namespace heed
