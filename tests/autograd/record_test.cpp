#include "tests/autograd/helpers.h"

#include <pthread.h>

using namespace heed;

namespace {

// Runs f on a thread whose stack has 256 KiB.
template <class F>
void on_small_stack(F f) {
  pthread_attr_t attributes;
  pthread_t thread;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  const auto run = [](void* function) -> void* {
    (*static_cast<F*>(function))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, &f) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  pthread_attr_destroy(&attributes);
}

constexpr int million = 1000000;

}  // namespace

TEST_CASE("A chain of 1,000,000 operations is built, differentiated and freed on a stack of 256 KiB") {
  const std::int64_t before = memory_use().bytes_in_use;
  double y = 0, dx = 0;
  std::int64_t size = 0;
  on_small_stack([&] {
    const Tensor x = variable(full({}, 2, DType::float64));
    const Recording recording;
    Tensor chain = x;
    for (int i = 0; i < million; ++i) chain = chain * (1 + 1e-6);
    y = chain.item();
    size = recording.size();
    dx = backward(chain)[x].item();
  });
  CHECK(size == million + 1);
  CHECK(y == Approx(2 * std::pow(1 + 1e-6, million)).epsilon(1e-9));
  CHECK(dx == Approx(std::pow(1 + 1e-6, million)).epsilon(1e-9));
  CHECK(memory_use().bytes_in_use == before);
}

TEST_CASE("A recorded backward through a chain of 1,000,000 operations needs a stack of only 256 KiB") {
  const std::int64_t before = memory_use().bytes_in_use;
  double dx = 0, ddx = 0, ddy = 0;
  std::int64_t size = 0;
  on_small_stack([&] {
    const Tensor x = variable(full({}, 2, DType::float64)), dy = variable(full({}, 3, DType::float64));
    const Recording recording;
    Tensor chain = square(x);
    for (int i = 0; i < million; ++i) chain = chain * (1 + 1e-6);
    const Tensor slope = backward(chain, dy, {.record = true})[x];
    size = recording.size();
    dx = slope.item();
    const Gradients second = backward(slope);
    ddx = second[x].item();
    ddy = second[dy].item();
  });
  const double factor = std::pow(1 + 1e-6, million);
  CHECK(size >= 2 * million);
  CHECK(dx == Approx(12 * factor).epsilon(1e-9));
  CHECK(ddx == Approx(6 * factor).epsilon(1e-9));
  CHECK(ddy == Approx(4 * factor).epsilon(1e-9));
  CHECK(memory_use().bytes_in_use == before);
}

TEST_CASE("A graph of 1,000,000 operations, each on the two before, needs a stack of only 256 KiB") {
  const std::int64_t before = memory_use().bytes_in_use;
  double y = 0, da = 0, db = 0;
  on_small_stack([&] {
    const Tensor a = variable(full({}, 5)), b = variable(full({}, 3));
    const Recording recording;
    Tensor last = a, current = b;
    for (int i = 0; i < million; ++i) last = std::exchange(current, current - last);
    y = current.item();
    const Gradients gradients = backward(current);
    da = gradients[a].item();
    db = gradients[b].item();
  });
  // a, b, b - a, -a, -b, a - b, a, ...: element 1,000,001 is a - b
  CHECK(y == 2);
  CHECK(da == 1);
  CHECK(db == -1);
  CHECK(memory_use().bytes_in_use == before);
}

TEST_CASE("Misuse of a Recording throws an Error that states the cause") {
  const Tensor x = variable(tensor({2}, {1, 2}));
  Tensor finished;
  {
    const Recording recording;
    finished = sum(x * x);
    CHECK(message([] { Recording nested; }) ==
          "Recording: one is already open on this thread; close it before opening another");
    CHECK(message([&] { backward(x * x); }) ==
          "backward: the loss must be a scalar of shape (), got (2); reduce it with sum() or mean(), or "
          "give a cotangent");
    CHECK(message([] { backward(Tensor()); }) == "backward: the loss is undefined");
    CHECK(message([&] { backward(Tensor(), ones({})); }) == "backward: the output or its cotangent is undefined");
    CHECK(message([&] { backward(finished, Tensor()); }) == "backward: the output or its cotangent is undefined");
    CHECK(message([] { backward(sum(ones({2}))); }) ==
          "backward: the output, of shape (), was not recorded: no Recording was open, a NoRecording was, or it "
          "depends on no variable (frozen variables do not count)");
    CHECK(message([&] { backward(x * x, ones({3})); }) ==
          "backward: the cotangent must be float32 (2) like the output, got float32 (3)");
    CHECK(message([&] { backward(x * x, ones({2}, DType::float64)); }) ==
          "backward: the cotangent must be float32 (2) like the output, got float64 (2)");
    CHECK(message([&] { (x * x).mutable_data<float>(); }) ==
          "tensor: a recorded tensor of shape (2) cannot be written. masked_fill(), where(), scatter() and index_add() "
          "return a new tensor and keep the gradient; detach().clone() can be written, and loses it");
    CHECK(backward(finished)[x].to_vector() == std::vector<double>{2, 4});  // the recording is intact
  }
  const std::string ended = "belongs to a recording that has ended or to another thread's";
  CHECK(message([&] { backward(finished); }) ==
        "backward: the output, of shape (), " + ended + "; call backward() before the end of the Recording");
  CHECK(message([&] { finished + finished; }) ==
        "add: input 0, of shape (), " + ended + "; use its detach(), or item()");
  const Recording another;
  CHECK(message([&] { backward(finished); }) ==
        "backward: the output, of shape (), " + ended + "; call backward() before the end of the Recording");
  CHECK(message([&] {
          matmul(ones({2, 2}), reshape(finished, {1, 1}));
        }) == "reshape: input 0, of shape (), " + ended + "; use its detach(), or item()");
  CHECK((finished.detach() + 1).item() == 6);
  CHECK(another.size() == 0);
}

TEST_CASE("Use of a recorded tensor in another thread throws an Error") {
  const Tensor x = variable(ones({}));
  const Recording recording;
  const Tensor y = square(x);
  std::string text;
  on_small_stack([&] {
    const Recording own;
    text = message([&] { y * 2; });
  });
  CHECK(text ==
        "multiply by scalar: input 0, of shape (), belongs to a recording that has ended or to another "
        "thread's; use its detach(), or item()");
}

TEST_CASE("Only operations that depend on a variable are recorded, and only within a recording") {
  const Tensor x = variable(ones({2}));
  const Tensor y = exp(x);
  CHECK(y.tape_node() == TapeNode{});
  CHECK_FALSE(y.is_variable());
  const Recording recording;
  exp(ones({2})) + y;
  CHECK(recording.size() == 0);
  exp(x.detach());
  CHECK(recording.size() == 0);
  const Tensor z = exp(x);
  CHECK(recording.size() == 2);
  backward(z, ones({2}));
  CHECK(recording.size() == 2);
}

TEST_CASE("NoRecording suspends recording for its lifetime") {
  const Tensor x = variable(full({}, 3));
  const Recording recording;
  const Tensor y = x * x;
  const std::int64_t before = recording.size();
  Tensor constant;
  {
    const NoRecording outer;
    {
      const NoRecording inner;
      constant = y * x;
    }
    constant = constant * x;
  }
  CHECK(recording.size() == before);
  CHECK(constant.item() == 81);
  CHECK(backward(y * constant)[x].item() == 6 * 81);
}

TEST_CASE("Repeated training steps allocate no system memory and leave none in use") {
  const Threads one(1);  // each thread has its own scratch memory, and how many hold some at once is random
  const std::int64_t before = memory_use().bytes_in_use;
  {
    Random random(3);
    Tensor W = variable(uniform({64, 64}, random, DType::float32, -0.1, 0.1));
    const Tensor x = uniform({4, 33, 64}, random, DType::float32);
    const auto step = [&] {
      const Recording recording;
      const Tensor hidden = gelu(linear(x, W, {}));
      const Tensor loss = mean(square(attention(hidden, hidden, hidden, {.mask = Mask::causal()}).output));
      const Gradients gradients = backward(loss);
      W.copy_from(W.detach() - gradients[W] * 0.1);
      return loss.item();
    };
    const double first = step();
    step();
    const std::int64_t allocations = memory_use().system_allocations;
    double last = 0;
    for (int i = 0; i < 100; ++i) last = step();
    CHECK(memory_use().system_allocations == allocations);
    CHECK(last < first);
  }
  CHECK(memory_use().bytes_in_use == before);
}
