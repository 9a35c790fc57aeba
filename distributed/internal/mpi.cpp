// The only file that includes mpi.h. The collective calls used here move bytes and add nothing: sums are heed's own, so that
// their order is known.
#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include "distributed/internal/transport.h"

#include <heed/autograd/error.h>

#include <algorithm>
#include <cstdlib>
#include <mpi.h>

namespace heed {
namespace {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail("{}: {}", call, std::string_view(text, static_cast<std::size_t>(length)));
}

bool is_done(MPI_Request& request, const char* call) {
  int is_done = 0;
  check_mpi(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), call);
  return is_done != 0;
}

void wait_for(MPI_Request& request, const char* call) {
  await([&] { return is_done(request, call); });
}

class MpiTransfer : public Transfer {
 public:
  explicit MpiTransfer(const char* call) : call_(call) {}
  MpiTransfer(const MpiTransfer&) = delete;
  bool is_done() override { return heed::is_done(request, call_); }
  MPI_Request request = MPI_REQUEST_NULL;

 private:
  const char* call_;
};

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    int provided = 0;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_FUNNELED)
      fail("MPI: {} allows no threads beside its own; use another build of it", mpi_version());
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &all_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(all_, MPI_ERRORS_RETURN);
    check_mpi(MPI_Comm_rank(all_, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(all_, &size_), "MPI_Comm_size");
    MPI_Comm on_host = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(all_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &on_host), "MPI_Comm_split_type");
    check_mpi(MPI_Comm_size(on_host, &size_on_host_), "MPI_Comm_size");
    MPI_Comm_free(&on_host);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int size_on_host() const override { return size_on_host_; }

  std::string host() const override {
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    check_mpi(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
    return {name, static_cast<std::size_t>(length)};
  }

  std::unique_ptr<Transfer> send(std::span<const std::byte> bytes, int to, int channel) override {
    auto transfer = std::make_unique<MpiTransfer>("MPI_Isend");
    check_mpi(MPI_Isend(bytes.data(), count_of(bytes.size()), MPI_BYTE, to, channel, all_, &transfer->request),
              "MPI_Isend");
    return transfer;
  }

  std::unique_ptr<Transfer> receive(std::span<std::byte> bytes, int from, int channel) override {
    auto transfer = std::make_unique<MpiTransfer>("MPI_Irecv");
    check_mpi(MPI_Irecv(bytes.data(), count_of(bytes.size()), MPI_BYTE, from, channel, all_, &transfer->request),
              "MPI_Irecv");
    return transfer;
  }

  void broadcast(std::span<std::byte> bytes) override {
    constexpr std::size_t most = 1 << 26;
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(most, bytes.size()))) {
      MPI_Request request;
      check_mpi(MPI_Ibcast(bytes.data(), count_of(std::min(most, bytes.size())), MPI_BYTE, 0, all_, &request),
                "MPI_Ibcast");
      wait_for(request, "MPI_Ibcast");
    }
  }

  std::vector<std::string> exchange(std::string_view text) override {
    const int length = count_of(text.size());
    std::vector<int> lengths(static_cast<std::size_t>(size_)), begins;
    MPI_Request request;
    check_mpi(MPI_Iallgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, all_, &request), "MPI_Iallgather");
    wait_for(request, "MPI_Iallgather");
    std::size_t total = 0;
    for (const int each : lengths) {
      begins.push_back(count_of(total));
      total += static_cast<std::size_t>(each);
    }
    std::string whole(total, '\0');
    check_mpi(MPI_Iallgatherv(text.data(), length, MPI_BYTE, whole.data(), lengths.data(), begins.data(), MPI_BYTE,
                              all_, &request),
              "MPI_Iallgatherv");
    wait_for(request, "MPI_Iallgatherv");
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < lengths.size(); ++r) {
      texts.push_back(whole.substr(static_cast<std::size_t>(begins[r]), static_cast<std::size_t>(lengths[r])));
    }
    return texts;
  }

  void finish() override {
    MPI_Comm_free(&all_);
    MPI_Finalize();
  }

  void abort(int exit_code) override { MPI_Abort(all_, exit_code); }

 private:
  static int count_of(std::size_t bytes) {
    if (bytes > (std::size_t{1} << 30)) fail("MPI: a message of {} bytes is too long", bytes);
    return static_cast<int>(bytes);
  }

  MPI_Comm all_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, size_on_host_ = 1;
};

}  // namespace

std::unique_ptr<Transport> connect_mpi() { return std::make_unique<MpiTransport>(); }

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string_view whole(text, static_cast<std::size_t>(length));
  return std::string(whole.substr(0, whole.find_first_of(",\n")));
}

}  // namespace heed
