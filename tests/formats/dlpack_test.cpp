#include "tests/catch.h"
#include "tests/message.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/formats/dlpack.h>

using namespace heed;
using namespace heed::dlpack;

namespace {

// Memory of another library, which counts how often it is given back.
struct Foreign {
  std::vector<float> numbers{0, 1, 2, 3, 4, 5};
  std::vector<std::int64_t> shape{2, 3}, strides{3, 1};
  int returned = 0;
  DLManagedTensorVersioned managed{};

  Foreign() {
    managed.version = {1, 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* self) { ++static_cast<Foreign*>(self->manager_ctx)->returned; };
    managed.dl_tensor = {numbers.data(), {1, 0}, 2, {2, 32, 1}, shape.data(), strides.data(), 0};
  }
  std::string refusal() {
    return message([&] { from_dlpack(&managed); });
  }
};

}  // namespace

TEST_CASE("A tensor of another library shares its memory, and gives it back after the last view") {
  Foreign foreign;
  {
    Tensor row;
    {
      Tensor x = from_dlpack(&foreign.managed);
      CHECK(x.to_vector() == std::vector<double>{0, 1, 2, 3, 4, 5});
      x.mutable_data<float>()[5] = 7;
      row = x[1];
    }
    CHECK(foreign.numbers[5] == 7);
    foreign.numbers[3] = -1;
    CHECK(row.to_vector() == std::vector<double>{-1, 4, 7});
    CHECK(foreign.returned == 0);
  }
  CHECK(foreign.returned == 1);
}

TEST_CASE("Strides of another library may be negative, transposed or missing") {
  Foreign foreign;
  SECTION("reversed rows") {
    foreign.strides = {-3, 1};
    foreign.managed.dl_tensor.byte_offset = 3 * sizeof(float);
    CHECK(from_dlpack(&foreign.managed).to_vector() == std::vector<double>{3, 4, 5, 0, 1, 2});
  }
  SECTION("transposed") {
    foreign.shape = {3, 2};
    foreign.strides = {1, 3};
    CHECK(from_dlpack(&foreign.managed).to_vector() == std::vector<double>{0, 3, 1, 4, 2, 5});
  }
  SECTION("row-major") {
    foreign.managed.dl_tensor.strides = nullptr;
    CHECK(from_dlpack(&foreign.managed).to_vector() == std::vector<double>{0, 1, 2, 3, 4, 5});
  }
  SECTION("read-only: a copy") {
    foreign.managed.flags = 1;
    Tensor x = from_dlpack(&foreign.managed);
    CHECK(foreign.returned == 1);
    x.mutable_data<float>()[0] = 9;
    CHECK(foreign.numbers[0] == 0);
  }
  CHECK(foreign.returned == 1);
}

TEST_CASE("from_dlpack gives refused memory back") {
  Foreign foreign;
  auto& array = foreign.managed.dl_tensor;
  SECTION("a graphics processor") {
    array.device.device_type = 2;
    CHECK(foreign.refusal() == "from_dlpack: expected memory of the processor (device 1), got device 2");
  }
  SECTION("integers") {
    array.dtype.code = 0;
    CHECK(foreign.refusal().starts_with("from_dlpack: elements of type code 0, 32 bits and 1 lanes are not supported"));
  }
  SECTION("unaligned") {
    array.byte_offset = 2;
    CHECK(foreign.refusal() == "from_dlpack: the memory is not aligned to its elements of 4 bytes; pass a copy");
  }
  SECTION("too many axes") {
    array.ndim = 9;
    CHECK(foreign.refusal() == "from_dlpack: expected at most 8 axes, got 9");
  }
  SECTION("a later version") {
    foreign.managed.version.major = 2;
    CHECK(foreign.refusal() == "from_dlpack: expected version 1 of DLPack, got 2");
  }
  SECTION("overflow") {
    foreign.strides[0] = std::int64_t{1} << 62;
    foreign.shape[0] = 5;
    CHECK(foreign.refusal() == "from_dlpack: the strides lead out of the memory");
  }
  CHECK(foreign.returned == 1);
}

TEST_CASE("A consumer shares the memory of a tensor, which lives until it gives that back") {
  Tensor x = transpose(tensor({2, 3}, {0, 1, 2, 3, 4, 5}, DType::float64));
  DLManagedTensorVersioned* const managed = to_dlpack(x);
  CHECK(managed->version.major == 1);
  const DLTensor& array = managed->dl_tensor;
  CHECK(array.ndim == 2);
  CHECK((array.dtype.code == 2 && array.dtype.bits == 64 && array.dtype.lanes == 1));
  CHECK(std::vector(array.shape, array.shape + 2) == std::vector<std::int64_t>{3, 2});
  CHECK(std::vector(array.strides, array.strides + 2) == std::vector<std::int64_t>{1, 3});
  static_cast<double*>(array.data)[1] = 9;
  CHECK(x.at({1, 0}) == 9);
  const std::int64_t before = memory_use().bytes_in_use;
  x = Tensor();
  CHECK(memory_use().bytes_in_use == before);
  CHECK(static_cast<double*>(array.data)[1] == 9);
  managed->deleter(managed);
  CHECK(memory_use().bytes_in_use < before);
}

TEST_CASE("A long chain of tensors that each keep the one before is released without recursion") {
  const std::int64_t before = memory_use().bytes_in_use;
  Tensor x = tensor({2}, {3, 4});
  for (int i = 0; i < 300000; ++i) x = from_dlpack(to_dlpack(x));
  CHECK(x.to_vector() == std::vector<double>{3, 4});
  x = Tensor();
  CHECK(memory_use().bytes_in_use == before);
}

TEST_CASE("Tensors survive both ways of DLPack in every type") {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    const Tensor x = tensor({2, 2}, {1, 2, 3, 4.5}).to(dtype);
    const Tensor y = from_dlpack(to_dlpack(x)), z = from_dlpack(to_dlpack_unversioned(x));
    CHECK(y.dtype() == dtype);
    CHECK(y.to(DType::float32).to_vector() == std::vector<double>{1, 2, 3, 4.5});
    CHECK(z.to(DType::float32).to_vector() == std::vector<double>{1, 2, 3, 4.5});
  }
  CHECK(from_dlpack(to_dlpack(zeros({0, 3}))).shape() == Shape{0, 3});
  CHECK(message([] {
          const Recording recording;
          to_dlpack(square(variable(ones({1}))));
        }) == "to_dlpack: the tensor is recorded; export x.detach()");
}
