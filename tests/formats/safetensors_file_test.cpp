#include "tests/catch.h"
#include "tests/message.h"
#include "tests/scratch.h"

#include <heed/autograd/ops.h>
#include <heed/files/file.h>
#include <heed/formats/safetensors.h>

using namespace heed;

TEST_CASE("SafeTensorsFile::read gives the tensors that read_safetensors gives") {
  const Scratch scratch;
  SafeTensors content{.tensors = {{"W", tensor({2, 3}, {1, -2, 3, 0.5, 5, 6})}, {"empty", zeros({3, 0})}},
                      .metadata = {}};
  for (const StoredAs stored : {StoredAs::as_it_is, StoredAs::F16, StoredAs::BF16}) {
    write_safetensors(scratch / "a", content, stored);
    const SafeTensors whole = read_safetensors(scratch / "a");
    const SafeTensorsFile file(scratch / "a");
    REQUIRE(file.tensors().size() == 2);
    for (const StoredTensor& tensor : file.tensors()) {
      CHECK(file.read(tensor).shape() == tensor.shape);
      CHECK(file.read(tensor).to_vector() == whole[tensor.name].to_vector());
    }
    CHECK(file.tensors()[0].type == (stored == StoredAs::F16 ? "F16" : stored == StoredAs::BF16 ? "BF16" : "F32"));
  }
}

TEST_CASE("SafeTensorsFile and read_safetensors give the same error for a truncated file") {
  const Scratch scratch;
  write_safetensors(scratch / "a", {.tensors = {{"W", tensor({2}, {1, 2})}}, .metadata = {}});
  const std::string bytes = read_file(scratch / "a");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    write_file(scratch / "a", bytes.substr(0, size));
    const std::string told = message([&] { SafeTensorsFile(scratch / "a"); });
    CHECK(told == message([&] { read_safetensors(scratch / "a"); }));
    CHECK(told.find("not a safetensors file") != std::string::npos);
  }
}
