#pragma once
#include <heed/autograd/random.h>
#include <heed/autograd/record.h>
#include <heed/autograd/tensor.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace heed {

/// A state dictionary, in order.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Returns whether a parameter has this name, or lies in the scope of this name.
bool is_within(const std::string& name, const std::string& scope);

/// Copies `from` into the tensors of `to` with the same names, "_orig_mod." and "module." before all of them apart. Throws one
/// Error, before it copies anything, that lists all missing, extra and wrong-shaped names. `source` names the origin of `from`.
void copy_by_name(const NamedTensors& from, const NamedTensors& to, const std::string& source);

/// The tensor of a parameter, as a layer holds it. copy_from() writes its values. No other tensor can be assigned to it, since
/// Parameters would keep, train and save the first; in a copy of a layer, Parameter(x) may take its place.
///
///     layer.weight.copy_from(random_normal(layer.weight.shape(), random, 0, 0.02));
class Parameter : public Tensor {
 public:
  Parameter() = default;                                        ///< undefined, as the bias of a layer without one
  explicit Parameter(Tensor made) : Tensor(std::move(made)) {}  ///< holds a tensor of Scope::parameter()
  Parameter(const Parameter&) = default;                        ///< a handle to the same memory
  Parameter& operator=(const Parameter&) = default;             ///< to assign whole layers
  void operator=(const Tensor&) = delete;  // Parameters would keep the first tensor: write its values with copy_from()
  std::shared_ptr<struct Adapter> adapter{};  ///< what adapt() adds to products with it (nn/adapter.h), or null
};

/// All parameters of a model by name ("encoder.0.attention.W_Q.weight"), in order of creation. This is the state
/// dictionary to save, load, optimise and check. It is a handle like Tensor: copies share the parameters.
///
/// Frozen parameters are constants for recordings: they get no gradient, operations on constants alone are not
/// recorded, and optimisers do not change them.
///
///     parameters.freeze("");                       // all parameters so far, such as those of a pretrained model
///     const Linear head(Scope(parameters, 1) / "head", 384, 2);
///     Optimizer optimizer(parameters, options);   // trains the head alone
class Parameters {
 public:
  Parameters() = default;
  Parameters(const Parameters&) = default;             ///< moves copy: the source stays valid
  Parameters& operator=(const Parameters&) = default;  ///< shares the entries of the source

  /// Adds a variable, and names it for messages unless another store did. Throws Error for an existing name, for a variable that the
  /// store has or whose memory it has, and unless it is a variable(). Two layers tie their weights by computing with one variable: x W^T.
  void add(const std::string& name, const Tensor& value);
  /// Adds a parameter with its adapter: in a copy of a store, for example.
  void add(const std::string& name, const std::same_as<Parameter> auto& value) { insert(name, value); }
  /// Freezes the parameter with this name or those in this scope ("encoder.0"; "": all), but not those added later.
  /// Throws Error if the name is unknown.
  void freeze(const std::string& name) { set_frozen(name, true); }
  /// Unfreezes the parameter with this name or those in this scope, except buffers.
  void unfreeze(const std::string& name) { set_frozen(name, false); }
  /// Makes the parameter with this name a buffer: saved and loaded like the others, but frozen for good.
  void make_buffer(const std::string& name);
  /// Returns whether a buffer has this name.
  bool is_buffer(const std::string& name) const { return marks_->buffers.contains(name); }
  /// Returns the buffers, in order of creation.
  NamedTensors buffers() const;
  /// Throws Error, prefixed by `what`, while a WeightAverage::Shown is open: new values would be lost when it ends. Optimisers call it.
  void check_not_averaged(const char* what) const;
  class Update;
  /// Returns the end of a message about an unknown name: the most similar name or scope, else the outermost ones.
  std::string suggestion(const std::string& unknown) const;
  /// Returns the parameter with this name. Throws Error that suggests the most similar name.
  const Tensor& operator[](const std::string& name) const&;
  Tensor operator[](const std::string& name) && { return std::as_const(*this)[name]; }  ///< of a temporary: a handle
  /// Returns whether a parameter has this name.
  bool contains(const std::string& name) const { return find(name) != nullptr; }
  /// Returns the number of parameters, with buffers.
  std::size_t size() const { return entries_->size(); }
  /// Returns the number of elements of all parameters, without buffers.
  std::int64_t numel() const;
  /// Iterates over pairs (name, variable), both const: `for (auto [name, p] : parameters) p = 2 * p` would change a copy of the
  /// handle, and does not compile. p.copy_from(2 * p) writes the values.
  auto begin() const { return entries_->cbegin(); }
  auto end() const { return entries_->cend(); }  ///< behind the last pair

  /// Copies by name into the parameters, like copy_by_name(). Matrices are (in, out), as in Linear. Files of PyTorch
  /// have (out, in): a square matrix then loads transposed without an error. Throws Error when all tensors are the
  /// parameters themselves, as in NamedTensors(begin(), end()): to keep values, clone() them. Throws Error while a
  /// WeightAverage::Shown is open.
  void load(const NamedTensors& tensors, const std::string& source);

 private:
  friend class Scope;
  friend class WeightAverage;
  friend void merge(const Parameters& parameters, const Parameters& widened);
  using Entries = std::vector<std::pair<const std::string, const Parameter>>;
  const Parameter* find(const std::string& name) const;  // or nullptr
  void insert(const std::string& name, const Parameter& value);
  void set_frozen(const std::string& name, bool frozen);
  std::shared_ptr<Entries> entries_ = std::make_shared<Entries>();
  struct Marks {
    std::set<std::string> buffers;  // names
    int averages_shown = 0;
    std::atomic<bool> is_updated = false;
  };
  std::shared_ptr<Marks> marks_ = std::make_shared<Marks>();
};

/// Is open while values of a store are written. Optimisers, load() and merge() open it, so that two threads do not update one store.
///
///     const Parameters::Update update(parameters, "my_step");
class Parameters::Update {
 public:
  /// Throws Error that begins with `what` when another thread updates them.
  [[nodiscard]] Update(const Parameters& parameters, const char* what);
  ~Update() { marks_->is_updated.store(false, std::memory_order_release); }
  Update(const Update&) = delete;
  Update& operator=(const Update&) = delete;

 private:
  std::shared_ptr<Marks> marks_;
};

/// The distribution of a parameter's initial values. Functions whose names have no fan take it from the shape: (in, out) for a
/// matrix, as in Linear; (out, in, ...) for more axes, where the product of the others multiplies both, as in a convolution.
///
///     const Linear layer(scope / "in", 64, 10, {.init = Init::kaiming_normal()});
struct Init {
  /// The distribution's family. `orthogonal` is uniform among the matrices with orthonormal rows or columns.
  enum class Kind { constant, uniform, normal, orthogonal } kind;
  double scale;  ///< the constant, the bound of uniform [-scale, scale), the deviation, or the gain of orthogonal
  /// Where it is not none, the bound or deviation is sqrt(scale / fan) for this fan of the shape; both: in + out.
  enum class Fan { none, in, out, both } fan = Fan::none;

  static Init zeros() { return {Kind::constant, 0}; }  ///< 0 for every element
  static Init ones() { return {Kind::constant, 1}; }   ///< 1 for every element
  /// Returns `value` for every element.
  static Init constant(double value) { return {Kind::constant, value}; }
  /// Returns uniform in [-bound, bound).
  static Init uniform(double bound) { return {Kind::uniform, bound}; }
  /// Returns normal with mean 0.
  static Init normal(double deviation) { return {Kind::normal, deviation}; }
  /// Returns uniform with bound sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010, equation 16).
  static Init xavier(std::int64_t fan_in, std::int64_t fan_out);
  /// Returns the same for the fans of the shape, times `gain`.
  static Init xavier_uniform(double gain = 1);
  /// Returns normal with deviation gain sqrt(2 / (in + out)).
  static Init xavier_normal(double gain = 1);
  /// Returns uniform with bound gain sqrt(3 / in) (He et al. 2015, arXiv:1502.01852). The default gain sqrt(2) is for relu();
  /// PyTorch draws the weights of nn.Linear with gain sqrt(1/3).
  static Init kaiming_uniform(double gain = 1.4142135623730951);
  /// Returns normal with deviation gain / sqrt(in).
  static Init kaiming_normal(double gain = 1.4142135623730951);
  /// Returns `gain` times a matrix with orthonormal rows, or columns if it has more rows (Saxe et al. 2014, arXiv:1312.6120). Axes
  /// after the first count as one.
  static Init orthogonal(double gain = 1) { return {Kind::orthogonal, gain}; }
};

/// Write new values into a parameter, so that the layer, its store and files follow. The shape must match; `value` may have any dtype.
/// Throw Error inside a Recording that follows `value`.
///
///     assign(layer.weight, transpose(weight_of_pytorch));
///     assign(layer.bias, 0.01);
///     assign(layer.weight, Init::orthogonal(), random);
///@{
void assign(const Tensor& parameter, const Tensor& value);
void assign(const Tensor& parameter, double value);
void assign(const Tensor& parameter, Init init, Random& random);
///@}

/// Initialisation of parameters: random, as Init specifies; 0, for a model that is loaded afterwards; or none, where
/// all elements of a parameter share one 0, so that even the largest model takes no memory and its shapes can be
/// inspected.
enum class Values { drawn, zeros, none };

/// Returns the values of the parameter with this full name and shape. The parameter shares their memory, for example a
/// mapped file's. Only weights of Linear, Embedding and an unembedding may have a type that only holds weights (DType).
using ParameterSource = std::function<Tensor(const std::string& name, const Shape& shape)>;

/// The place at which a layer creates its parameters: a store, which it shares, a prefix of names, and a seed. A parameter's initial
/// values depend only on the seed and its full name.
///
///     Parameters parameters;
///     const Linear layer(Scope(parameters, 1) / "head", 64, 10);   // head.weight (64, 10), head.bias (10)
class Scope {
 public:
  /// Draws values from `seed`.
  Scope(Parameters& parameters, std::uint64_t seed, DType dtype = DType::float32, Values values = Values::drawn)
      : parameters_(parameters), random_(seed), dtype_(dtype), values_(values) {}

  /// Takes the parameters' values from `source`. `dtype` is that of the model's activations.
  Scope(Parameters& parameters, DType dtype, ParameterSource source)
      : parameters_(parameters),
        random_(0),
        dtype_(dtype),
        source_(std::make_shared<const ParameterSource>(std::move(source))) {}

  /// Gives layers these tensors, by full name, instead of new parameters. They may be recorded: a model with the weights after a
  /// step of gradient descent, through which backward() differentiates (MAML, Finn et al. 2017, arXiv:1703.03400). A view
  /// of a parameter must be recorded, too: outside of a Recording it is a constant, and parameter() throws Error for it.
  ///
  ///     const Gradients g = backward(loss(model), {.record = true});
  ///     NamedTensors fast;
  ///     for (const auto& [name, p] : parameters) fast.emplace_back(name, p - 0.1 * g[p]);
  ///     const Model adapted{Scope(fast)};   // the same constructor as for the first model
  explicit Scope(NamedTensors values);

  /// Returns a nested scope.
  Scope operator/(const std::string& name) const;
  /// Returns a nested scope with a number as its name.
  Scope operator/(int number) const { return *this / std::to_string(number); }
  /// Returns a scope for layers with the names of this one and the parameters that were made in `other`.
  Scope sharing(const Scope& other) const;

  /// Makes a parameter. Throws Error for a size that is not positive, for an existing name, and for one that given tensors do not have.
  /// A layer that computes adapted() gives its matrix an empty Adapter, which adapt() fills.
  Parameter parameter(const std::string& name, const Shape& shape, Init init,
                      std::shared_ptr<Adapter> adapter = nullptr) const;
  /// Makes a buffer of one value: a tensor that is saved and loaded with the parameters, and not trained. Throws Error as parameter().
  Parameter buffer(const std::string& name, const Shape& shape, double value) const;
  /// Returns the store of the parameters made here. Throws Error for a scope of given tensors.
  const Parameters& parameters() const;
  /// Returns the dtype of the parameters made here.
  DType dtype() const { return dtype_; }
  /// Returns the name without the trailing dot: "encoder.0".
  std::string name() const { return prefix_.substr(0, prefix_.empty() ? 0 : prefix_.size() - 1); }

 private:
  Tensor drawn(const std::string& full_name, const Shape& shape, Init init) const;
  Parameter given(const std::string& full_name, const Shape& shape) const;

  mutable std::optional<Parameters> parameters_;  // none with given tensors
  std::string prefix_;
  std::string shared_{};  // prefix of the parameters to take; empty: makes its own
  Random random_;
  DType dtype_;
  Values values_ = Values::drawn;
  std::shared_ptr<const ParameterSource> source_;
  std::shared_ptr<const NamedTensors> given_{};  // null: makes parameters
};

}  // namespace heed
