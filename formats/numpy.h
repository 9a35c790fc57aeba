#pragma once
#include <heed/autograd/array.h>
#include <heed/nn/parameters.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace heed {

/// Reads an array of a .npy file (numpy.lib.format, versions 1 to 3) in C or Fortran order and either byte order. float32 and float64
/// stay as they are; float16, booleans and integers of 8 bits become float32; other integers become float64 (beyond 2^53 they are
/// rounded), as in read_safetensors(). Throws Error with the file's name and the reason: truncated, another shape than its bytes, Python
/// objects, records, text, complex numbers, or more than 8 axes.
///
///     const Tensor x = read_npy("x.npy");         // numpy.save("x.npy", x)
///     const Ids labels = read_npy_ids("y.npy");   // int64 labels
Tensor read_npy(const std::filesystem::path& path);
/// Reads an array of integers or booleans. Throws Error for an element beyond 32 bits, too.
Ids read_npy_ids(const std::filesystem::path& path);
Tensor parse_npy(std::string_view bytes, const std::string& source);   ///< source: named in errors
Ids parse_npy_ids(std::string_view bytes, const std::string& source);  ///< as read_npy_ids()

/// Returns the bytes of a .npy file. Throws Error as write_npy() does.
std::string format_npy(const Tensor& x);
/// Write a .npy file atomically, in C order: float32, float64 and float16 as they are, Ids as int32, Booleans as bool. Throw Error for a
/// type that NumPy does not have: convert bfloat16 with x.to(DType::float32).
void write_npy(const std::filesystem::path& path, const Tensor& x);
void write_npy(const std::filesystem::path& path, const Ids& x);       ///< int32
void write_npy(const std::filesystem::path& path, const Booleans& x);  ///< bool

/// The arrays of a .npz file, in its order.
///
///     const NumpyArrays arrays = read_npz("mnist.npz");
///     const Tensor x = arrays["x_train"];
///     const Ids labels = to_ids(arrays["y_train"]);
struct NumpyArrays : NamedTensors {
  using NamedTensors::operator[];
  /// Returns the array with this name. Throws Error that suggests the most similar name.
  const Tensor& operator[](const std::string& name) const&;
  Tensor operator[](const std::string& name) && { return std::as_const(*this)[name]; }  ///< of a temporary: a handle
};
/// Reads all arrays of a .npz file (numpy.savez, numpy.savez_compressed), as read_npy() does. Throws Error as that does, and for a
/// damaged archive.
NumpyArrays read_npz(const std::filesystem::path& path);
NumpyArrays parse_npz(std::string_view bytes, const std::string& source);  ///< source: named in errors

/// Writes a .npz file atomically, without compression: numpy.load(path)["x"]. Throws Error for a name that occurs twice or is empty, for
/// a type that write_npy() refuses, and for a file of 4 GB or more.
void write_npz(const std::filesystem::path& path, const NamedTensors& arrays);

}  // namespace heed
