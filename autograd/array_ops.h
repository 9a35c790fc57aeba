#pragma once
#include <heed/autograd/array.h>

#include <concepts>

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
#endif

/// Logic. Shapes broadcast. (arrays.cpp)
Booleans operator!(const Booleans& x);
Booleans operator&(const Booleans& a, const Booleans& b);  ///< elementwise and
Booleans operator|(const Booleans& a, const Booleans& b);  ///< elementwise or
bool any(const Booleans& x);                               ///< false without elements
bool all(const Booleans& x);                               ///< true without elements
std::int64_t count(const Booleans& x);                     ///< elements that are true

}  // namespace heed
