#pragma once
#include <heed/autograd/array.h>

#include <concepts>
#include <type_traits>

/// @file
/// Operations on integers and booleans. They are not recorded. ops.h includes this file.
///
///     const Ids next = (tokens + 1) % vocabulary;                // wraps around
///     const Booleans hidden = tokens == padding | tokens < 0;    // an element each
namespace heed {

/// Comparisons of each element. Shapes broadcast. (arrays.cpp)
///@{
Booleans operator<(const Ids& a, const Ids& b);
Booleans operator<=(const Ids& a, const Ids& b);
Booleans operator>(const Ids& a, const Ids& b);
Booleans operator>=(const Ids& a, const Ids& b);
Booleans operator<(const Ids& a, std::int32_t b);
Booleans operator<=(const Ids& a, std::int32_t b);
Booleans operator>(const Ids& a, std::int32_t b);
Booleans operator>=(const Ids& a, std::int32_t b);
Booleans equal(const Ids& a, const Ids& b);
Booleans equal(const Ids& a, std::int32_t b);
Booleans operator==(const Ids& a, const Ids& b);
Booleans operator==(const Ids& a, std::int32_t b);
Booleans operator!=(const Ids& a, const Ids& b);
Booleans operator!=(const Ids& a, std::int32_t b);
///@}
/// The same of booleans: a != b is the exclusive or. Beside integers true is 1, as in predictions == labels. (arrays.cpp, ids.cpp)
///@{
Booleans equal(const Booleans& a, const Booleans& b);
Booleans operator==(const Booleans& a, const Booleans& b);
Booleans operator!=(const Booleans& a, const Booleans& b);
Booleans operator==(const Booleans& a, const Ids& b);
Booleans operator!=(const Booleans& a, const Ids& b);
Booleans operator==(const Ids& a, const Booleans& b);
Booleans operator!=(const Ids& a, const Booleans& b);
///@}

/// Arithmetic of integers. Shapes broadcast. / and % round the quotient down, as in Python. Throw Error for results beyond 32 bits
/// and for a division by 0. (ids.cpp)
///@{
Ids operator+(const Ids& a, const Ids& b);
Ids operator-(const Ids& a, const Ids& b);
Ids operator*(const Ids& a, const Ids& b);
Ids operator/(const Ids& a, const Ids& b);
Ids operator%(const Ids& a, const Ids& b);
Ids operator+(const Ids& a, std::int32_t b);
Ids operator-(const Ids& a, std::int32_t b);
Ids operator*(const Ids& a, std::int32_t b);
Ids operator/(const Ids& a, std::int32_t b);
Ids operator%(const Ids& a, std::int32_t b);
Ids operator+(std::int32_t a, const Ids& b);
Ids operator-(std::int32_t a, const Ids& b);
Ids operator*(std::int32_t a, const Ids& b);
Ids operator-(const Ids& x);
///@}

#ifndef HEED_DOXYGEN
// A fraction would be cut off to an integer.
Ids operator+(const Ids&, std::floating_point auto) = delete;        // tensor(ids) has numbers
Ids operator+(std::floating_point auto, const Ids&) = delete;        // tensor(ids) has numbers
Ids operator-(const Ids&, std::floating_point auto) = delete;        // tensor(ids) has numbers
Ids operator-(std::floating_point auto, const Ids&) = delete;        // tensor(ids) has numbers
Ids operator*(const Ids&, std::floating_point auto) = delete;        // tensor(ids) has numbers
Ids operator*(std::floating_point auto, const Ids&) = delete;        // tensor(ids) has numbers
Ids operator/(const Ids&, std::floating_point auto) = delete;        // tensor(ids) has numbers
Ids operator/(std::floating_point auto, const Ids&) = delete;        // tensor(ids) has numbers
Ids operator%(const Ids&, std::floating_point auto) = delete;        // tensor(ids) has numbers
Ids operator%(std::floating_point auto, const Ids&) = delete;        // tensor(ids) has numbers
Booleans operator<(const Ids&, std::floating_point auto) = delete;   // tensor(ids) has numbers
Booleans operator<=(const Ids&, std::floating_point auto) = delete;  // tensor(ids) has numbers
Booleans operator>(const Ids&, std::floating_point auto) = delete;   // tensor(ids) has numbers
Booleans operator>=(const Ids&, std::floating_point auto) = delete;  // tensor(ids) has numbers
Booleans operator==(const Ids&, std::floating_point auto) = delete;  // tensor(ids) has numbers
Booleans operator!=(const Ids&, std::floating_point auto) = delete;  // tensor(ids) has numbers
// These have several meanings for booleans.
namespace detail {
template <class T>
concept Number = std::is_arithmetic_v<T>;
template <class T>
concept NumberOrIds = Number<T> || std::same_as<T, Ids>;
template <class T>
concept NumberOrArray = NumberOrIds<T> || std::same_as<T, Booleans>;
}  // namespace detail
Ids operator+(const Booleans&, const detail::NumberOrArray auto&) = delete;  // a | b, or numbers: to_ids(mask)
Ids operator+(const detail::NumberOrIds auto&, const Booleans&) = delete;    // numbers: to_ids(mask), tensor(mask)
Ids operator-(const Booleans&, const detail::NumberOrArray auto&) = delete;  // a & !b, or numbers: to_ids(mask)
Ids operator-(const detail::NumberOrIds auto&,
              const Booleans&) = delete;  // the complement is !mask; numbers: tensor(mask)
Ids operator*(const Booleans&, const detail::NumberOrArray auto&) = delete;  // a & b, or numbers: to_ids(mask)
Ids operator*(const detail::NumberOrIds auto&, const Booleans&) = delete;    // numbers: to_ids(mask), tensor(mask)
Ids operator/(const Booleans&, const detail::NumberOrArray auto&) = delete;  // numbers: tensor(mask)
Booleans operator==(const Booleans&, const detail::Number auto&) = delete;   // write mask, or !mask
Booleans operator!=(const Booleans&, const detail::Number auto&) = delete;   // write mask, or !mask
Booleans operator-(const Booleans&) = delete;                                // the complement is !mask
Booleans operator~(const Booleans&) = delete;                                // the complement is !mask
Booleans operator^(const Booleans&, const Booleans&) = delete;               // the exclusive or is a != b
#endif

/// Logic. Shapes broadcast. (arrays.cpp)
Booleans operator!(const Booleans& x);
Booleans operator&(const Booleans& a, const Booleans& b);  ///< elementwise and
Booleans operator|(const Booleans& a, const Booleans& b);  ///< elementwise or
bool any(const Booleans& x);                               ///< false without elements
bool all(const Booleans& x);                               ///< true without elements
std::int64_t count(const Booleans& x);                     ///< elements that are true

}  // namespace heed
