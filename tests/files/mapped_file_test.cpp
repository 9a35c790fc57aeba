#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/autograd/ops.h>
#include <heed/files/file.h>
#include <heed/files/mapped_file.h>
#include <heed/formats/safetensors.h>

#include <array>
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace heed;

namespace {

struct Ended {
  int status = 0;
  std::string told;  // what the process wrote to its standard error
};

// Runs `function` in a child process, which exits with 0 if it returns.
template <class Function>
Ended in_a_process(const Function& function) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t process = ::fork();
  if (process == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    function();
    ::_exit(0);
  }
  ::close(ends[1]);
  Ended ended;
  std::array<char, 512> part{};
  for (ssize_t n = 0; (n = ::read(ends[0], part.data(), part.size())) > 0;) {
    ended.told.append(part.data(), static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  ::waitpid(process, &ended.status, 0);
  return ended;
}

}  // namespace

TEST_CASE("A mapped file has the bytes of the file, and writes to it do not change the file") {
  const Scratch scratch;
  const std::string text(100'000, 'a');
  write_file(scratch / "a", text);
  std::shared_ptr<const void> owner;
  char* data = nullptr;
  {
    const MappedFile file(scratch / "a");
    REQUIRE(file.size() == text.size());
    CHECK(std::string(file.data(), file.size()) == text);
    owner = file.owner();
    data = file.data();
  }
  data[5] = 'b';  // the owner keeps the mapping
  CHECK((data[5] == 'b' && read_file(scratch / "a") == text));
}

TEST_CASE("Only regular files that are not empty are mapped") {
  const Scratch scratch;
  write_file(scratch / "a", "");
  CHECK(message([&] { MappedFile(scratch / "a"); }, (scratch / "a").string()) == "cannot read FILE: it is empty");
  CHECK_THROWS_AS(MappedFile(scratch / "b"), FileError);
  CHECK_THROWS_AS(MappedFile(scratch.path), Error);
}

TEST_CASE("Truncating a mapped file ends the process with a message; other SIGBUS signals are unaffected") {
  const Scratch scratch;
  const std::string path = scratch / "a";
  const auto read_all = [](const MappedFile& file) {
    volatile char last = 0;
    for (std::uint64_t i = 0; i < file.size(); i += 512) last = file.data()[i];
    static_cast<void>(last);
  };
  write_file(path, std::string(1 << 20, 'a'));
  const Ended cut = in_a_process([&] {
    const MappedFile gone(path), file(path);
    { const MappedFile closed(path); }
    std::filesystem::resize_file(path, 100);
    read_all(file);
  });
  CHECK((WIFEXITED(cut.status) && WEXITSTATUS(cut.status) == 1));
  CHECK(cut.told ==
        path +
            ": part of the file is lost: it was cut, or its disk failed, while it was in use; try again with "
            "the whole file\n");
  write_file(path, std::string(1 << 20, 'a'));
  const Ended whole = in_a_process([&] { read_all(MappedFile(path)); });
  CHECK((WIFEXITED(whole.status) && WEXITSTATUS(whole.status) == 0 && whole.told.empty()));
#if !defined(HEED_SANITIZED)  // a sanitizer handles the signal itself
  const Ended other = in_a_process([&] {
    const MappedFile file(path);
    ::raise(SIGBUS);
  });
  CHECK((WIFSIGNALED(other.status) && WTERMSIG(other.status) == SIGBUS));
#endif
}

TEST_CASE("Mapped tensors of a safetensors file equal the tensors written, in their stored types") {
  const Scratch scratch;
  const SafeTensors content{.tensors = {{"W", tensor({2, 3}, {1, -2, 3, 0.5, 5, 6})}, {"empty", zeros({3, 0})}},
                            .metadata = {}};
  for (const auto& [stored, dtype] : {std::pair{StoredAs::as_it_is, DType::float32},
                                      {StoredAs::F16, DType::float16},
                                      {StoredAs::BF16, DType::bfloat16}}) {
    write_safetensors(scratch / "a", content, stored);
    std::vector<Tensor> mapped;
    {
      SafeTensorsFile file(scratch / "a");
      for (const StoredTensor& tensor : file.tensors()) mapped.push_back(file.map(tensor));
    }
    CHECK(mapped[0].dtype() == dtype);
    CHECK(mapped[0].to_vector() == content.tensors[0].second.to_vector());
    CHECK(mapped[1].shape() == Shape{3, 0});
  }
}

TEST_CASE("SafeTensorsFile::map throws for a file that was truncated after it was opened") {
  const Scratch scratch;
  const std::string path = scratch / "a";
  write_safetensors(path, {.tensors = {{"W", zeros({1000})}}, .metadata = {}});
  SafeTensorsFile file(path);
  std::filesystem::resize_file(path, 500);
  CHECK(message([&] { file.map(file.tensors()[0]); }, path).starts_with("cannot read FILE: it was truncated from "));
}
