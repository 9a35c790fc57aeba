#include "tests/autograd/helpers.h"

using namespace heed;

namespace {

const Operation local("local", "y = x", "any", Samples::none("returns whatever gradients a test wants"));
const Operation broadcast_local("broadcast_local", "y = x", "any",
                                Samples::none("the same, of an input that is broadcast"), {.broadcasts = true});

Tensor with_gradients(const Tensor& x, const std::vector<Tensor>& gradients, const Operation& operation = local) {
  return record(operation, {&x}, x.detach().clone(), Saved(gradients),
                [](const Tensor&, const std::vector<Tensor>& saved) { return saved; });
}

}  // namespace

TEST_CASE("A gradient that does not fit its input throws an Error that names the operation") {
  const Tensor x = variable(ones({2}));
  const auto error = [&](const std::vector<Tensor>& gradients, const Operation& operation = local) {
    const Recording recording;
    return message([&] { backward(sum(with_gradients(x, gradients, operation))); });
  };
  CHECK(error({ones({3})}) == "backward of local: input 0 has shape (2), its gradient (3)");
  CHECK(error({ones({4, 2})}) == "backward of local: input 0 has shape (2), its gradient (4, 2)");
  CHECK(error({ones({2}, DType::float64)}) == "backward of local: input 0 is float32, its gradient float64");
  CHECK(error({Tensor()}) == "backward of local: no gradient for input 0");
  CHECK(error({}) == "backward of local: expected one gradient per input (1), got 0");
  CHECK(error({ones({2}), ones({2})}) == "backward of local: expected one gradient per input (1), got 2");
  CHECK(error({ones({2})}) == "no error");
  CHECK(error({ones({3, 2})}, broadcast_local) == "no error");
  CHECK(error({ones({})}, broadcast_local) == "backward of broadcast_local: input 0 has shape (2), its gradient ()");
  CHECK(error({ones({2, 3})}, broadcast_local) ==
        "backward of broadcast_local: input 0 has shape (2), its gradient (2, 3)");
  const Recording recording;  // a failed backward leaves recording on
  square(x);
  CHECK(recording.size() == 2);
}

TEST_CASE("backward of a variable itself gives gradient 1, or the cotangent") {
  const Tensor x = variable(full({}, 3)), rows = variable(zeros({2}));
  CHECK(message([&] { backward(x); }) ==
        "backward: the output, of shape (), was not recorded: no Recording was open, a NoRecording was, or it depends "
        "on no variable (frozen variables do not count)");
  const Recording recording;
  CHECK(backward(x)[x].item() == 1);
  CHECK(backward(rows, tensor({2}, {5, 7}))[rows].to_vector() == std::vector<double>{5, 7});
  CHECK(message([&] { backward(rows, ones({3})); }) ==
        "backward: the cotangent must be float32 (2) like the output, got float32 (3)");
}

TEST_CASE("Gradients are looked up by variable, copied by value and added") {
  const Tensor a = variable(tensor({2}, {1, 2})), b = variable(tensor({2}, {3, 4})), c = variable(ones({3}));
  const Recording recording;
  Gradients g = backward(sum(a * b));
  const Gradients h = backward(sum(a * 10));
  CHECK(g.size() == 2);
  CHECK_FALSE(g.contains(c));
  CHECK_FALSE(g.contains(a * b));
  CHECK_FALSE(g.contains(ones({4})));
  CHECK(message([&] { g[c]; }) == "gradients: none for a variable of shape (3): the loss does not depend on it");
  CHECK(
      message([&] { g[a * b]; }) ==
      "gradients: the tensor of shape (2) is not a variable but the result of an operation; to get the gradient there, "
      "continue from variable(x.detach())");
  const std::string constant =
      "gradients: the tensor of shape (4) is not a variable but a constant; make one with variable() before the "
      "Recording. Assigning to a variable's handle makes a constant of it, copy_from() does not";
  CHECK(message([&] { g[ones({4})]; }) == constant);
  CHECK(message([&] { g.set(ones({4}), ones({4})); }) == constant);
  CHECK(message([&] { g.set(a, ones({3})); }) ==
        "gradients: a variable of shape (2), float32, cannot have a gradient float32 (3)");

  Gradients total = h;
  total += g;
  total += backward(sum(c));
  CHECK(total.size() == 3);
  CHECK(total[a].to_vector() == std::vector<double>{13, 14});
  CHECK(total[b].to_vector() == std::vector<double>{1, 2});
  CHECK(total[c].to_vector() == std::vector<double>{1, 1, 1});
  CHECK(h[a].to_vector() == std::vector<double>{10, 10});
  for (const auto& [variable, gradient] : h) {
    CHECK(variable.tape_node() == a.tape_node());
    CHECK(same_bits(gradient, h[a]));
  }
  total += total;
  CHECK(total[a].to_vector() == std::vector<double>{26, 28});
}

TEST_CASE("backward adds gradients to a total in place, without changing copies of it") {
  const Tensor a = variable(tensor({2}, {1, 2})), b = variable(tensor({2}, {3, 4})), c = variable(ones({3}));
  const Tensor table = variable(ones({4, 2}));
  Gradients total;
  for (const int id : {1, 3}) {
    const Recording recording;
    backward(sum(a * b) + sum(a) + sum(embedding(table, Ids({2}, {id, 1}))), total);
  }
  CHECK(total.size() == 3);
  CHECK(total[a].to_vector() == std::vector<double>{8, 10});
  CHECK(total[b].to_vector() == std::vector<double>{2, 4});
  CHECK(total[table].to_vector() == std::vector<double>{0, 0, 3, 3, 0, 0, 1, 1});

  const Gradients before = total;
  const void* where = total[b].data<float>();
  {
    const Recording recording;
    backward(sum(c), total);
    backward(sum(a * 3), total);
    CHECK(total[b].data<float>() == where);
    backward(sum(b), total);
    const Tensor unused = a * 2;
    backward(sum(c * 2) + sum(unused.detach()), total);
  }
  CHECK(total[a].to_vector() == std::vector<double>{11, 13});
  CHECK(total[b].to_vector() == std::vector<double>{3, 5});
  CHECK(total[c].to_vector() == std::vector<double>{3, 3, 3});
  CHECK(before[a].to_vector() == std::vector<double>{8, 10});
  CHECK(before[b].to_vector() == std::vector<double>{2, 4});
  CHECK_FALSE(before.contains(c));

  const void* own = total[c].data<float>();
  {
    const Recording recording;
    backward(sum(c), total);
  }
  CHECK(total[c].data<float>() == own);
  CHECK(
      message([&] { backward(ones({2}), total); }) ==
      "backward: the loss must be a scalar of shape (), got (2); reduce it with sum() or mean(), or give a cotangent");
}

TEST_CASE("backward passes each gradient to the callback as soon as it is final") {
  const Tensor a = variable(tensor({2}, {1, 2})), b = variable(tensor({2}, {3, 4})), c = variable(tensor({2}, {5, 6}));
  std::vector<std::string> events;
  const auto noted = [&](const Tensor& x, const std::string& name) {
    return record(local, {&x}, x.detach().clone(), Saved(name),
                  [to = &events](const Tensor& dy, const std::string& saved) {
                    to->push_back("backward of " + saved);
                    return std::vector{dy};
                  });
  };
  const Recording recording;
  const Tensor loss = sum(noted(noted(a, "first") * b, "second") * c + b);
  const Gradients all = backward(loss);
  events.clear();
  Gradients taken;
  backward(loss, [&](const Tensor& variable, Tensor gradient) {
    events.push_back(same_bits(variable, a) ? "a" : same_bits(variable, b) ? "b" : "c");
    CHECK((gradient * 2).tape_node().recording == 0);
    taken.set(variable, std::move(gradient));
  });
  CHECK(events == std::vector<std::string>{"c", "backward of second", "b", "backward of first", "a"});
  REQUIRE(taken.size() == 3);
  for (const Tensor& each : {a, b, c}) CHECK(same_bits(taken[each], all[each]));

  taken = {};
  const Tensor only = variable(tensor({}, {7}));
  backward(only, [&](const Tensor& variable, Tensor gradient) { taken.set(variable, std::move(gradient)); });
  CHECK(taken[only].item() == 1);
  CHECK(message([&] { backward(loss, std::function<void(const Tensor&, Tensor)>()); }) ==
        "backward: the function that takes the gradients is empty");
}

TEST_CASE("An error in backward begins with the name of the layer that recorded the operation") {
  const Tensor x = variable(ones({2}));
  const std::string name = "decoder.3.out";
  const Recording recording;
  Tensor y;
  {
    const LayerScope scope(name);
    y = with_gradients(x, {ones({3})});
  }
  CHECK(message([&] { backward(sum(y)); }) ==
        "decoder.3.out: backward of local: input 0 has shape (2), its gradient (3)");
}

TEST_CASE("Gradients of several uses add up, even when they share memory") {
  const Tensor a = variable(ones({2})), b = variable(ones({2}));
  const Recording recording;
  const Tensor both = a + b;  // passes one gradient to a and b
  for (const Tensor& loss : {sum(both) + sum(a) + sum(a), sum(a) + sum(both) + sum(a)}) {
    const Gradients gradients = backward(loss);
    CHECK(gradients[a].to_vector() == std::vector<double>{3, 3});
    CHECK(gradients[b].to_vector() == std::vector<double>{1, 1});
  }
  const Tensor cotangent = tensor({2}, {1, 2});
  CHECK(backward(both + a + a * 2, cotangent)[a].to_vector() == std::vector<double>{4, 8});
  CHECK(cotangent.to_vector() == std::vector<double>{1, 2});
}

TEST_CASE("The gradient of a tied embedding table is the sum over its uses, in a single tensor") {
  Random random(5);
  const Tensor values = uniform({4000, 64}, random), x = uniform({6, 64}, random, DType::float64, -0.1, 0.1);
  const Tensor g = uniform({5, 64}, random);
  const Ids ids({5}, {3, 0, 3, 3999, 1});
  const auto logits = [&](const Tensor& table) { return sum(square(linear(x, transpose(table), {}))); };
  const auto words = [&](const Tensor& table) { return sum(embedding(table, ids) * g); };
  std::int64_t max_bytes = 0;
  const auto gradient_of = [&](auto f) {
    const Tensor table = variable(values.clone());
    const Recording recording;
    const Tensor loss = f(table);
    reset_peak_memory();
    const std::int64_t before = memory_use().bytes_in_use;
    const Gradients gradients = backward(loss);
    max_bytes = memory_use().peak_bytes - before;
    return gradients[table];
  };
  const std::vector<double> apart = (gradient_of(logits) + gradient_of(words)).to_vector();
  const auto words_first = [&](const Tensor& table) {
    const Tensor first = words(table);
    return first + logits(table);
  };
  const auto logits_first = [&](const Tensor& table) {
    const Tensor first = logits(table);
    return first + words(table);
  };
  CHECK(gradient_of(logits_first).to_vector() == apart);
  CHECK(gradient_of(words_first).to_vector() == apart);  // as models do: the table's rows are added last
  CHECK(max_bytes < 3 * values.numel() * 8 / 2);

  const Tensor table = variable(tensor({2, 2}, {1, 2, 3, 4})), cotangent = tensor({2, 2}, {1, 10, 100, 1000});
  const Recording recording;
  const Gradients gradients = backward(embedding(table, Ids({2}, {1, 1})) + table, cotangent);
  CHECK(gradients[table].to_vector() == std::vector<double>{1, 10, 201, 2010});
  CHECK(cotangent.to_vector() == std::vector<double>{1, 10, 100, 1000});
}

TEST_CASE("backward is repeatable, and a variable can be used in several recordings") {
  Random random(1);
  const Tensor x = variable(uniform({7, 5}, random)), W = variable(uniform({5, 5}, random));
  const auto loss = [&] { return sum(square(softmax(matmul(tanh(matmul(x, W)), W)))); };
  Tensor dx, dW;
  for (int run = 0; run < 2; ++run) {
    const Recording recording;
    const Tensor y = loss();
    const Gradients first = backward(y), second = backward(y);
    CHECK(same_bits(first[x], second[x]));
    CHECK(same_bits(first[W], second[W]));
    if (run > 0) CHECK((same_bits(dx, first[x]) && same_bits(dW, first[W])));
    dx = first[x], dW = first[W];
  }
}

TEST_CASE("cross_entropy returns its precomputed gradient unchanged at every backward") {
  Random random(2);
  const Tensor x = variable(uniform({3, 4}, random));
  const Ids labels({3}, {1, 0, 3});
  const Recording recording;
  const Tensor rest = sum(x), loss = cross_entropy(x, labels), both = rest + loss;  // rest's is added to loss's
  const Tensor expected = backward(loss)[x] + 1;
  CHECK(same_bits(backward(both)[x], expected));
  CHECK(same_bits(backward(both)[x], expected));
  CHECK(same_bits(backward(loss)[x] + 1, expected));
}

TEST_CASE("Names in a loop over gradients refer to the gradients") {
  const Tensor a = variable(tensor({2}, {1, 2})), b = variable(tensor({2}, {3, 4}));
  const Recording recording;
  Gradients gradients = backward(sum(a * b));
  for (auto [variable, gradient] : gradients) gradient *= 2;
  CHECK(gradients[a].to_vector() == std::vector<double>{6, 8});
  for (auto& [variable, gradient] : gradients) gradient = gradient / 2;
  CHECK(gradients[a].to_vector() == std::vector<double>{3, 4});
  for (auto [variable, gradient] : gradients) scale_in_place(gradient, 10);
  CHECK(gradients[b].to_vector() == std::vector<double>{10, 20});
  std::vector<Tensor> seen;
  for (const auto& [variable, gradient] : std::as_const(gradients)) seen.push_back(gradient);
  CHECK(seen.size() == 2);
}

TEST_CASE("A gradient of temporary Gradients outlives them") {
  const Tensor x = variable(tensor({2}, {1, 2}));
  const Recording recording;
  const Tensor& gradient = backward(sum(square(x)))[x];
  const Tensor others = full({2}, 9);  // would reuse freed memory
  CHECK(gradient.to_vector() == std::vector<double>{2, 4});
  const Shape& shape = (x + x).shape();
  CHECK(shape == Shape{2});
}

TEST_CASE("A loss that was computed from gradients is refused") {
  const Tensor x = variable(full({}, 3)), w = variable(full({}, 2));
  const auto penalty = [](const Tensor& g) { return square(g - 1); };
  const auto second = [](const std::string& what) {
    return what +
           " was computed from the gradients of an earlier backward(), which were not recorded; for second "
           "derivatives, call that backward(loss, {.record = true}); to use a gradient as a constant, take its "
           "detach()";
  };
  Gradients earlier;
  {
    const Recording recording;
    const Tensor y = w * square(x);
    earlier = backward(y);
    CHECK(message([&] { backward(w + 10 * penalty(earlier[x])); }) == second("backward of add: input 1"));
    CHECK(message([&] { backward(penalty(backward(y)[x])); }) == second("backward: the output"));
    CHECK(message([&] { backward(w * reshape(earlier[x], {1})[0]); }) == second("backward of multiply: input 1"));
    CHECK(backward(w * earlier[x].detach())[w].item() == 12);
    CHECK((norm(earlier[x]) / norm(w)).item() == 6);  // figures for a log
    earlier += backward(y);
    CHECK(message([&] { backward(w * earlier[x]); }) == second("backward of multiply: input 1"));
    scale_in_place(earlier.begin().operator*().gradient, 0.5);
    CHECK(message([&] { backward(w * earlier[x]); }) == second("backward of multiply: input 1"));
    const NoRecording constants;
    w.copy_from(w - 0.1 * earlier[w]);
  }
  const Tensor momentum = 0.9 * earlier[x];  // outside a recording: a constant
  const Recording recording;
  CHECK(backward(w * momentum).contains(w));
  CHECK(message([&] { backward(w * earlier[x]); }) == second("backward of multiply: input 1"));
}

TEST_CASE("Gradients are contiguous and share no memory, so that a loop may write into them") {
  const Tensor x = variable(ones({2, 3})), y = variable(ones({2, 3})), W = variable(ones({4, 2}));
  const Tensor cotangent = ones({2, 3});
  const auto halved = [](Gradients gradients) {
    for (auto [variable, gradient] : gradients) {
      REQUIRE(gradient.is_contiguous());
      float* const numbers = gradient.mutable_data<float>();
      for (std::int64_t i = 0; i < gradient.numel(); ++i) numbers[i] *= 0.5F;
    }
    return gradients;
  };
  const auto all = [](const Tensor& gradient, double value) {
    return gradient.to_vector() == std::vector<double>(static_cast<std::size_t>(gradient.numel()), value);
  };
  const Recording recording;
  const Gradients of_sum = halved(backward(sum(square(x + y))));
  CHECK((all(of_sum[x], 2) && all(of_sum[y], 2)));
  const Gradients of_output = halved(backward(x + y, cotangent));
  CHECK((all(of_output[x], 0.5) && all(of_output[y], 0.5) && all(cotangent, 1)));
  CHECK(all(halved(backward(reshape(x, {6}), ones({6})))[x], 0.5));
  CHECK(all(halved(backward(x, cotangent))[x], 0.5));
  CHECK(all(halved(backward(sum(W)))[W], 0.5));
  CHECK(all(halved(backward(sum(mean(W, 0))))[W], 0.125));
  CHECK(all(halved(backward(matmul(ones({1, 2}), transpose(W)), ones({1, 4})))[W], 0.5));
  CHECK(all(cotangent, 1));
  std::vector<Tensor> taken;
  backward(sum(x + y), [&](const Tensor&, Tensor gradient) {
    CHECK((gradient.is_contiguous() && all(gradient, 1)));
    gradient.copy_from(0.5 * gradient);
    taken.push_back(gradient);
  });
  CHECK((taken.size() == 2 && all(taken[0], 0.5) && all(taken[1], 0.5)));
}

TEST_CASE("A tensor whose elements share memory cannot be written") {
  Tensor wide = broadcast_to(ones({2, 1}), {2, 3}), nothing = broadcast_to(ones({0, 1}), {0, 3});
  CHECK(
      message([&] { wide.mutable_data<float>(); }) ==
      "tensor: elements of a tensor of shape (2, 3) share memory, as in broadcast_to(), so it cannot be written; write "
      "to its clone()");
  CHECK_NOTHROW(nothing.mutable_data<float>());
}

TEST_CASE("A total of gradients shares no memory with what was added to it") {
  const Tensor x = variable(ones({2})), y = variable(ones({2}));
  Gradients first, second;
  {
    const Recording recording;
    first = backward(sum(2 * x));
    second = backward(sum(3 * y));
  }
  Gradients total;
  total += first;
  total += second;
  for (auto [variable, gradient] : first) gradient.copy_from(zeros({2}));
  for (auto [variable, gradient] : second) gradient.mutable_data<float>()[0] = 7;
  CHECK((total[x].to_vector() == std::vector<double>{2, 2} && total[y].to_vector() == std::vector<double>{3, 3}));
  const float* const memory = second[y].data<float>();
  total = {};
  total += std::move(second);
  CHECK(total[y].data<float>() == memory);  // of a temporary: no copy
}
