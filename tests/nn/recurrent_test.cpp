#include "tests/autograd/helpers.h"
#include "tests/golden.h"
#include "tests/message.h"

#include <heed/nn/batch_norm.h>
#include <heed/nn/hook.h>
#include <heed/nn/recurrent.h>
#include <heed/optim/optimizer.h>

using namespace heed;

namespace {

constexpr RecurrentOptions two_layers{.layers = 2};

// Returns the layers of a state (layers, B, d).
std::vector<Tensor> layers_of(const Tensor& state) { return unbind(state, 0); }

// Returns one layer of a network, with its parameters.
template <class Layer>
Layer one_layer(const Layer& layer, std::size_t index) {
  Layer one = layer;
  one.cells = {layer.cells[index]};
  return one;
}

void load_norm(const Golden& golden, const std::string& name, const Parameters& parameters) {
  assign(parameters["gain"], golden(name + ".gain"));
  assign(parameters["bias"], golden(name + ".bias"));
}

}  // namespace

TEST_CASE("A detached state continues with the same numbers, and without gradients of earlier steps") {
  Parameters parameters;
  const Scope scope(parameters, 1, DType::float64);
  const GRU gru(scope / "gru", 3, 4, two_layers);
  const RNN rnn(scope / "rnn", 3, 4, two_layers);
  const LSTMCell cell(scope / "cell", 3, 4);
  const Tensor x = variable(ones({2, 3, 3}, DType::float64)), more = ones({2, 1, 3}, DType::float64);
  const auto check = [&](const auto& layer, const Recording&) {
    const auto begun = layer(x).state;
    CHECK(same_bits(layer(more, begun).output.detach(), layer(more, begun.detach()).output.detach()));
    CHECK(backward(sum(layer(more, begun).output)).contains(x));
    CHECK(!backward(sum(layer(more, begun.detach()).output)).contains(x));
  };
  const Recording recording;
  check(gru, recording), check(rnn, recording);
  const LSTMCell::State state = cell(x[0]);
  CHECK(backward(sum(cell(ones({3, 3}, DType::float64), state).h)).contains(x));
  CHECK(!backward(sum(cell(ones({3, 3}, DType::float64), state.detach()).h)).contains(x));
  CHECK(!LSTMCell::State().detach().h.defined());
}

TEST_CASE("LSTM equals PyTorch's, forward and backward, in float64 and float32") {
  const Golden golden("recurrent");
  const DType dtype = GENERATE(DType::float64, DType::float32);
  Parameters parameters;
  const LSTM lstm(Scope(parameters, 1, dtype), 4, 6, two_layers);
  golden.load("lstm", parameters);
  const Tensor x = variable(golden("lstm.x", dtype));
  const LSTM::State first{layers_of(golden("lstm.h", dtype)), layers_of(golden("lstm.c", dtype))};
  check_case(golden, "lstm", joined({{"x", x}}, parameters), [&] { return lstm(x, first).output; });
  const auto [output, state] = lstm(x, first);
  CHECK(error(stack(state.h), golden("lstm.last_h")) <= tolerance(dtype));
  CHECK(error(stack(state.c), golden("lstm.last_c")) <= tolerance(dtype));
}

TEST_CASE("GRU equals PyTorch's, forward and backward") {
  const Golden golden("recurrent");
  Parameters parameters;
  const GRU gru(Scope(parameters, 1, DType::float64), 4, 6, two_layers);
  golden.load("gru", parameters);
  const Tensor x = variable(golden("gru.x"));
  const GRU::State first = layers_of(golden("gru.h"));
  check_case(golden, "gru", joined({{"x", x}}, parameters), [&] { return gru(x, first).output; });
  CHECK(error(stack(gru(x, first).state), golden("gru.last_h")) <= 1e-12);
}

TEST_CASE("Bidirectional LSTM and GRU equal PyTorch's, and read texts of different lengths from their own ends") {
  const Golden golden("recurrent");
  const RecurrentOptions both{.layers = 2, .bidirectional = true};
  Parameters of_lstm, of_gru;
  const LSTM lstm(Scope(of_lstm, 1, DType::float64), 4, 6, both);
  const GRU gru(Scope(of_gru, 1, DType::float64), 4, 6, both);
  golden.load("lstm_both", of_lstm);
  golden.load("gru_both", of_gru);
  const Tensor x = variable(golden("lstm_both.x")), y = variable(golden("gru_both.x"));
  const LSTM::State first{layers_of(golden("lstm_both.h")), layers_of(golden("lstm_both.c"))};
  const GRU::State first_gru = layers_of(golden("gru_both.h"));
  check_case(golden, "lstm_both", joined({{"x", x}}, of_lstm), [&] { return lstm(x, first).output; });
  check_case(golden, "gru_both", joined({{"x", y}}, of_gru), [&] { return gru(y, first_gru).output; });
  CHECK(error(stack(lstm(x, first).state.h), golden("lstm_both.last_h")) < 1e-12);
  CHECK(error(stack(lstm(x, first).state.c), golden("lstm_both.last_c")) < 1e-12);
  CHECK(error(stack(gru(y, first_gru).state), golden("gru_both.last_h")) < 1e-12);
  const auto [output, state] = lstm(x, {}, Ids({5, 2, 3}));
  CHECK(error(output, golden("lstm_both.packed")) < 1e-12);
  CHECK(error(stack(state.h), golden("lstm_both.packed_h")) < 1e-12);
  const auto [output_gru, state_gru] = gru(x, {}, Ids({5, 2, 3}));
  CHECK(error(output_gru, golden("gru_both.packed")) < 1e-12);
  CHECK(error(stack(state_gru), golden("gru_both.packed_h")) < 1e-12);
}

TEST_CASE("RNN and RNNCell equal PyTorch's with tanh and relu, in one direction and in both, forward and backward") {
  const Golden golden("recurrent");
  const Nonlinearity kind = GENERATE(Nonlinearity::tanh, Nonlinearity::relu);
  const bool both = GENERATE(false, true);
  const std::string prefix = "rnn_" + std::string(name_of(kind)), name = prefix + (both ? "_both" : "");
  Parameters parameters, of_cell;
  const RNN rnn(Scope(parameters, 1, DType::float64), 4, 6, {.layers = 2, .bidirectional = both}, kind);
  golden.load(name, parameters);
  const Tensor x = variable(golden(name + ".x"));
  const RNN::State first = layers_of(golden(name + ".h"));
  check_case(golden, name, joined({{"x", x}}, parameters), [&] { return rnn(x, first).output; });
  CHECK(error(stack(rnn(x, first).state), golden(name + ".last_h")) <= 1e-12);
  if (both) {
    const auto [output, state] = rnn(golden("lstm_both.x"), {}, Ids({5, 2, 3}));
    CHECK(error(output, golden(name + ".packed")) < 1e-12);
    CHECK(error(stack(state), golden(name + ".packed_h")) < 1e-12);
  }
  const RNNCell cell(Scope(of_cell, 1, DType::float64), 4, 6, kind);
  golden.load(prefix + "_cell", of_cell);
  const Tensor step = variable(golden(prefix + "_cell.x"));
  check_case(golden, prefix + "_cell", joined({{"x", step}}, of_cell),
             [&] { return cell(step, golden(prefix + "_cell.h")); });
  CHECK(error(cell(step), cell(step, zeros({3, 6}, DType::float64))) == 0);
  CHECK(message([&] { (void)cell(zeros({3, 5}, DType::float64)); }) == "RNNCell: expected x (B, 4), got (3, 5)");
  CHECK(message([&] {
          (void)rnn(zeros({2, 3, 5}));
        }) == "RNN: expected x (B, T, 4) with at least one step, got (2, 3, 5)");
}

TEST_CASE("The gradient of a gradient of RNN equals differences of the gradient") {
  const Nonlinearity kind = GENERATE(Nonlinearity::tanh, Nonlinearity::relu);
  Parameters parameters;
  const RNN rnn(Scope(parameters, 1, DType::float64), 2, 3, two_layers, kind);
  Random random(4);
  const Tensor x = random_normal({2, 4, 2}, random).to(DType::float64),
               v = random_normal({2, 4, 2}, random).to(DType::float64);
  const auto loss = [&](const Tensor& at) { return sum(square(rnn(at, {}, Ids({4, 2})).output)); };
  const auto gradient = [&](const Tensor& at) {
    const Tensor leaf = variable(at);
    const Recording recording;
    return backward(loss(leaf))[leaf];
  };
  constexpr double h = 1e-5;
  const Tensor differences = (gradient(x + h * v) - gradient(x - h * v)) / (2 * h);
  const Tensor leaf = variable(x);
  const Recording recording;
  const Tensor along = sum(backward(loss(leaf), {.record = true})[leaf] * v);
  CHECK(error(backward(along)[leaf], differences) < 1e-8);
}

TEMPLATE_TEST_CASE("A recurrent layer drops outputs of each layer but the last", "", LSTM, GRU, RNN) {
  Parameters parameters;
  const TestType layer(Scope(parameters, 1, DType::float64), 4, 6, {.layers = 3});
  Random random(5);
  const Tensor x = random_normal({2, 5, 4}, random).to(DType::float64);
  Random drawn(7), again(7), hooked(7);
  const Dropout drop{.p = 0.5, .random = &drawn};
  const Tensor dropped = layer(x, {}, {}, drop).output;
  const Tensor first = dropout(one_layer(layer, 0)(x).output, 0.5, again);
  const Tensor second = dropout(one_layer(layer, 1)(first).output, 0.5, again);
  CHECK(error(dropped, one_layer(layer, 2)(second).output) < 1e-14);
  CHECK(error(dropped, layer(x).output) > 0.01);
  {
    const Hook hook([](const std::string&, Tensor&) {});
    CHECK(error(layer(x, {}, {}, {.p = 0.5, .random = &hooked}).output, dropped) < 1e-14);
  }
  CHECK(error(one_layer(layer, 0)(x, {}, {}, drop).output, one_layer(layer, 0)(x).output) == 0);
  CHECK(message([&] { (void)layer(x, {}, {}, {.p = 0.5}); }) == "Dropout: p is 0.5, but no random numbers were given");
}

TEST_CASE("LSTMCell and GRUCell equal PyTorch's, begin with zeros, and refuse wrong shapes by name") {
  const Golden golden("recurrent");
  Parameters of_lstm, of_gru;
  const LSTMCell lstm(Scope(of_lstm, 1, DType::float64), 4, 6);
  const GRUCell gru(Scope(of_gru, 1, DType::float64), 4, 6);
  golden.load("lstm_cell", of_lstm);
  golden.load("gru_cell", of_gru);
  const Tensor x = variable(golden("lstm_cell.x")), y = variable(golden("gru_cell.x"));
  check_case(golden, "lstm_cell", joined({{"x", x}}, of_lstm), [&] {
    const auto [h, c] = lstm(x, {golden("lstm_cell.h"), golden("lstm_cell.c")});
    return concat({h, c}, -1);
  });
  check_case(golden, "gru_cell", joined({{"x", y}}, of_gru), [&] { return gru(y, golden("gru_cell.h")); });
  const Tensor zero = zeros({3, 6}, DType::float64);
  CHECK(error(lstm(x).c, lstm(x, {zero, zero}).c) == 0);
  CHECK(error(gru(y), gru(y, zero)) == 0);
  CHECK(message([&] { (void)lstm(zeros({3, 5}, DType::float64)); }) == "LSTMCell: expected x (B, 4), got (3, 5)");
  CHECK(message([&] {
          (void)gru(y, zeros({3, 5}, DType::float64));
        }) == "GRUCell: expected a state (3, 6), got (3, 5)");
}

TEST_CASE("A recurrent layer reads a padded batch as it reads each text alone, and a text in two parts as in one") {
  Parameters parameters;
  const LSTM lstm(Scope(parameters, 1, DType::float64) / "lstm", 4, 6, two_layers);
  const GRU gru(Scope(parameters, 1, DType::float64) / "gru", 4, 6, two_layers);
  Random random(3);
  const Tensor x = random_normal({3, 5, 4}, random).to(DType::float64);
  const Ids lengths({3}, {5, 2, 0});
  const auto padded = lstm(x, {}, lengths);
  const auto padded_gru = gru(x, {}, lengths);
  const Tensor alone = slice(slice(x, 0, 1, 2), 1, 0, 2);
  CHECK(error(slice(slice(padded.output, 0, 1, 2), 1, 0, 2), lstm(alone).output) < 1e-14);
  CHECK(error(slice(padded.state.c[1], 0, 1, 2), lstm(alone).state.c[1]) < 1e-14);
  CHECK(error(slice(padded_gru.state[1], 0, 1, 2), gru(alone).state[1]) < 1e-14);
  CHECK(sum(abs(padded.output[2])).item() == 0);
  CHECK(sum(abs(padded.state.h[0][2])).item() == 0);
  CHECK(sum(abs(slice(padded.output[1], 0, 2, 5))).item() == 0);
  const auto begun = lstm(slice(x, 1, 0, 2));
  CHECK(error(lstm(slice(x, 1, 2, 5), begun.state.detach()).output, slice(lstm(x).output, 1, 2, 5)) < 1e-14);
}

TEST_CASE("Recurrent layers refuse wrong shapes by name") {
  Parameters parameters;
  const LSTM lstm(Scope(parameters, 1) / "lstm", 4, 6, two_layers);
  const Tensor x = zeros({2, 3, 4});
  CHECK(message([&] {
          (void)lstm(zeros({2, 3, 5}));
        }) == "LSTM: expected x (B, T, 4) with at least one step, got (2, 3, 5)");
  CHECK(message([&] {
          (void)lstm(x, {}, Ids({2}, {1, 4}));
        }) == "LSTM: a length must be from 0 to 3, the number of steps, got 4");
  CHECK(message([&] { (void)lstm(x, {}, Ids({3}, {1, 1, 1})); }) == "LSTM: expected one length per text, (2), got (3)");
  CHECK(message([&] {
          (void)lstm(x, {{zeros({2, 6})}, {}});
        }) == "LSTM: expected a state (2, 6) for each of 2 cells, got 1, of shape (2, 6)");
  CHECK(message([&] { GRU(Scope(parameters, 1) / "gru", 4, 6, {.layers = 0}); }) ==
        "GRU: expected at least one layer, got 0");
}

TEST_CASE("BatchNorm equals PyTorch's in both phases, and keeps its statistics as buffers") {
  const Golden golden("recurrent");
  const auto [name, channels] = GENERATE(table<std::string, int>({{"batch_norm", 4}, {"batch_norm_images", 3}}));
  Parameters parameters;
  const BatchNorm norm(Scope(parameters, 1, DType::float64), channels);
  load_norm(golden, name, parameters);
  const Tensor x = variable(golden(name + ".x"));
  check_case(golden, name, {{"x", x}, {"gain", norm.gain}, {"bias", norm.bias}}, [&] { return norm(x, Phase::train); });
  CHECK(error(norm.running_mean, golden(name + ".running_mean")) < 1e-12);
  CHECK(error(norm.running_variance, golden(name + ".running_variance")) < 1e-12);
  CHECK(error(norm(x, Phase::evaluate), golden(name + ".evaluated")) < 1e-12);
  CHECK(message([&, channels = channels] {  // clang 14 captures no structured binding by itself
          (void)norm(zeros({1, channels}, DType::float64), Phase::train);
        })
            .starts_with("BatchNorm: training needs at least two values per channel"));
  CHECK(message([&] {
          (void)norm(zeros({4, 9}, DType::float64), Phase::train);
        }).starts_with("BatchNorm: expected (B, " + std::to_string(channels)));
}

TEST_CASE("Buffers are saved and loaded, and neither trained nor unfrozen") {
  Parameters parameters;
  const BatchNorm norm(Scope(parameters, 1) / "norm", 4);
  CHECK(parameters.buffers().size() == 2);
  CHECK(parameters.numel() == 8);
  CHECK(parameters.is_buffer("norm.running_mean"));
  CHECK_FALSE(parameters.is_buffer("norm.gain"));
  parameters.freeze("");
  parameters.unfreeze("");
  CHECK(norm.running_mean.is_frozen());
  CHECK_FALSE(norm.gain.is_frozen());
  Random random(1);
  Optimizer optimizer(parameters, {.weight_decay = 0.5});
  {
    const Recording recording;
    const Tensor loss = sum(norm(random_normal({9, 4}, random), Phase::train));
    optimizer.step(backward(loss), 0.1);
  }
  const std::vector<double> mean = norm.running_mean.to_vector();
  CHECK(mean != std::vector<double>(4, 0.0));
  Parameters other;
  const BatchNorm copy(Scope(other, 2) / "norm", 4);
  other.load({parameters.begin(), parameters.end()}, "the first");
  CHECK(copy.running_mean.to_vector() == mean);
}

TEST_CASE("GroupNorm equals PyTorch's") {
  const Golden golden("recurrent");
  Parameters parameters;
  const GroupNorm norm(Scope(parameters, 1, DType::float64), 2, 6);
  load_norm(golden, "group_norm", parameters);
  const Tensor x = variable(golden("group_norm.x"));
  check_case(golden, "group_norm", {{"x", x}, {"gain", norm.gain}, {"bias", norm.bias}}, [&] { return norm(x); });
  CHECK(message([&] { GroupNorm(Scope(parameters, 1) / "other", 4, 6); }) ==
        "GroupNorm: 6 channels cannot form 4 equal groups");
}

TEST_CASE(
    "BatchNorm and GroupNorm check their constants, name their layer in messages, and show their output to a Hook") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  CHECK(message([&] { BatchNorm(scope / "a", 3, {.epsilon = -1}); }) ==
        "BatchNorm: epsilon must be finite and at least 0, got -1");
  CHECK(message([&] { BatchNorm(scope / "b", 3, {.momentum = 2}); }) ==
        "BatchNorm: momentum must be from 0 to 1, got 2");
  CHECK(message([&] { GroupNorm(scope / "c", 3, 3, std::nan("")); }) ==
        "GroupNorm: epsilon must be finite and at least 0, got nan");
  const BatchNorm batch(scope / "batch", 3);
  const GroupNorm group(scope / "group", 3, 3);
  CHECK(message([&] {
          (void)batch(zeros({4, 2}), Phase::train);
        }) == "batch: BatchNorm: expected (B, 3) or (B, 3, ...), got (4, 2)");
  CHECK(message([&] { (void)group(zeros({4, 2})); }) == "group: GroupNorm: expected (B, 3) or (B, 3, ...), got (4, 2)");
  CHECK(message([&] {
          (void)group(zeros({4, 3}, DType::float64));
        }) ==
        "group: GroupNorm: expected float32 as its parameters have, got float64 (4, 3); convert x with x.to(), or make "
        "the Scope with this dtype");
  std::vector<std::string> shown;
  {
    const Hook hook([&](const std::string& value, Tensor&) { shown.push_back(value); });
    (void)batch(zeros({4, 3}), Phase::evaluate);
    (void)group(zeros({4, 3}));
  }
  CHECK(shown == std::vector<std::string>{"batch.output", "group.output"});
}
