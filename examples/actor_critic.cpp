// Actor and critic (Mnih et al. 2016, arXiv:1602.01783, with one actor) balance a pole on a cart (Barto et al. 1983): one network gives the
// probabilities of two pushes and the value of a state; after each episode it learns from the returns.
#include <heed/heed.h>

#include <array>

using namespace heed;

struct CartPole {
  std::array<double, 4> state{};  // position, speed, angle, angular speed

  bool push(bool right) {  // returns whether the pole still stands
    auto& [x, v, angle, w] = state;
    const double force = right ? 10 : -10, sine = std::sin(angle), cosine = std::cos(angle);
    const double pull = (force + 0.05 * w * w * sine) / 1.1;
    const double turn = (9.8 * sine - cosine * pull) / (0.5 * (4.0 / 3 - 0.1 * cosine * cosine / 1.1));
    const double push = pull - 0.05 * turn * cosine / 1.1;
    x += 0.02 * v;
    v += 0.02 * push;
    angle += 0.02 * w;
    w += 0.02 * turn;
    return std::abs(x) < 2.4 && std::abs(angle) < 0.2094;
  }
};

struct ActorCritic {
  Linear in, policy, value;
  explicit ActorCritic(const Scope& scope)
      : in(scope / "in", 4, 32), policy(scope / "policy", 32, 2), value(scope / "value", 32, 1) {}
};

// A generator that is easy to write in another language: numbers in [0, 1).
struct Numbers {
  std::uint64_t state = 1;
  double next() {
    state = (state * 1103515245 + 12345) % 2147483648;
    return static_cast<double>(state) / 2147483648;
  }
};

int main() {
  Parameters parameters;
  const ActorCritic model(Scope(parameters, 1, DType::float64));
  int number = 0;
  for (const auto& [name, parameter] : parameters) {  // only so that PyTorch can begin with the same values
    std::vector<double> values;
    for (int i = 0; i < parameter.numel(); ++i) values.push_back(parameter.rank() == 2 ? 0.4 * std::sin(++number) : 0);
    assign(parameter, tensor(parameter.shape(), values, DType::float64));
  }
  Optimizer adam(parameters);
  Numbers numbers;
  double mean_length = 0;
  for (int episode = 1; episode <= 200; ++episode) {
    CartPole game;
    for (double& value : game.state) value = 0.1 * numbers.next() - 0.05;
    std::vector<double> states;
    std::vector<std::int32_t> actions;
    for (bool stands = true; stands && actions.size() < 200;) {
      const Tensor probability = softmax(model.policy(tanh(model.in(tensor({1, 4}, game.state, DType::float64)))));
      states.insert(states.end(), game.state.begin(), game.state.end());
      actions.push_back(numbers.next() >= probability.at({0, 0}));
      stands = game.push(actions.back() == 1);
    }
    const std::int64_t T = std::ssize(actions);
    std::vector<double> returns(actions.size());  // each step gives 1, and later steps count 0.99 of the one before
    for (std::size_t t = actions.size(); t-- > 0;)
      returns[t] = 1 + (t + 1 < actions.size() ? 0.99 * returns[t + 1] : 0);

    const Recording recording;
    const Tensor hidden = tanh(model.in(tensor({T, 4}, states, DType::float64)));
    const Tensor target = tensor({T}, returns, DType::float64) / 20, value = reshape(model.value(hidden), {T});
    const Tensor advantage = (target - value).detach();
    const Tensor log_probability = log_softmax(model.policy(hidden));
    const Tensor chosen = reshape(gather(log_probability, Ids({T, 1}, actions), 1), {T});
    const Tensor entropy = -sum(exp(log_probability) * log_probability, {1});
    const Tensor loss = mean(-chosen * advantage + 0.5 * square(value - target) - 0.01 * entropy);
    Gradients gradients = backward(loss);
    clip_by_global_norm(gradients, 1);
    adam.step(gradients, 0.01);
    mean_length += static_cast<double>(T) / 20;
    if (episode % 20 == 0)
      fmt::print("episodes {:3} to {:3}  steps {:.2f}\n", episode - 19, episode, std::exchange(mean_length, 0));
  }
}
