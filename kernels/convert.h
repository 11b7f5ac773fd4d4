/* SPDX-License-Identifier: MIT */
#ifndef KOLK_KERNELS_CONVERT_H
#define KOLK_KERNELS_CONVERT_H

/* From any element type to any other, the same on every device.
 *
 * Every element is first either whole (integers and bool: int64_t, exact) or
 * real (floats: double, exact), and then takes its new type in one rounding, to
 * nearest even. So there are 8 ways in and 16 out, not 64. Reals become integers
 * by dropping the fraction; what does not fit becomes the nearest bound and NaN
 * becomes 0, both of which C leaves open. Whole numbers wrap, as in C. NaNs keep
 * their sign and the top bits of their payload, and are quiet. */

#include <kolk/view.h>
#include <string.h>

/* ---- 16-bit floats ---- */

/* `value` as sign, `exponent` bits and `mantissa` bits.
 *
 * Its significand, an integer of 53 bits, is shifted right until only the bits of
 * the format are left; the carry of the rounding runs into the exponent, up to
 * infinity, by itself. Below the least normal number the shift grows instead. */
KOLK_HD static inline uint16_t kolk_narrow(double value, int exponent, int mantissa)
{
    const uint64_t infinite = (uint64_t)0x7ff << 52;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t sign = bits >> 63 << 15;
    const uint64_t magnitude = bits & ~((uint64_t)1 << 63);
    const uint64_t top = (((uint64_t)1 << exponent) - 1) << mantissa;
    int shift = 52 - mantissa;
    if (magnitude > infinite)
        return (uint16_t)(sign | top | (uint64_t)1 << (mantissa - 1) |
                          (magnitude - infinite) >> shift);
    int power = (int)(magnitude >> 52) - 1023 + (1 << (exponent - 1)) - 1;
    if (power >= (1 << exponent) - 1)
        return (uint16_t)(sign | top);
    if (power < 1) {
        shift = shift + 1 - power > 54 ? 54 : shift + 1 - power;
        power = 1;
    }
    const uint64_t significand = (magnitude & (((uint64_t)1 << 52) - 1)) | (uint64_t)1
                                                                               << 52;
    const uint64_t half = (uint64_t)1 << (shift - 1);
    const uint64_t rest = significand & (2 * half - 1);
    uint64_t kept = significand >> shift;
    kept += rest > half || (rest == half && (kept & 1));
    return (uint16_t)(sign | (((uint64_t)(power - 1) << mantissa) + kept));
}

KOLK_HD static inline float kolk_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

KOLK_HD static inline double kolk_real_of_f16(kolk_f16 value)
{
    const uint32_t sign = (uint32_t)(value.bits & 0x8000) << 16;
    const uint32_t power = value.bits >> 10 & 31;
    const uint32_t mantissa = value.bits & 1023;
    if (power == 0)
        return (double)mantissa * (sign ? -0x1p-24 : 0x1p-24);
    const uint32_t rebased = power == 31 ? 255 : power + 127 - 15;
    return (double)kolk_float_of_bits(sign | rebased << 23 | mantissa << 13);
}

KOLK_HD static inline double kolk_real_of_bf16(kolk_bf16 value)
{
    return (double)kolk_float_of_bits((uint32_t)value.bits << 16);
}

/* ---- out of a real ---- */

KOLK_HD static inline kolk_f16 kolk_f16_of_real(double value)
{
    kolk_f16 narrow;
    narrow.bits = kolk_narrow(value, 5, 10);
    return narrow;
}

KOLK_HD static inline kolk_bf16 kolk_bf16_of_real(double value)
{
    kolk_bf16 narrow;
    narrow.bits = kolk_narrow(value, 8, 7);
    return narrow;
}

KOLK_HD static inline int64_t kolk_i64_of_real(double value)
{
    if (value >= 0x1p63)
        return INT64_MAX;
    if (value <= -0x1p63)
        return INT64_MIN;
    return value == value ? (int64_t)value : 0;
}

KOLK_HD static inline int64_t kolk_clamp_real(double value, int64_t low, int64_t high)
{
    const int64_t whole = kolk_i64_of_real(value);
    return whole < low ? low : whole > high ? high : whole;
}

KOLK_HD static inline int32_t kolk_i32_of_real(double value)
{
    return (int32_t)kolk_clamp_real(value, INT32_MIN, INT32_MAX);
}

KOLK_HD static inline uint8_t kolk_u8_of_real(double value)
{
    return (uint8_t)kolk_clamp_real(value, 0, UINT8_MAX);
}

KOLK_HD static inline bool kolk_bool_of_real(double value)
{
    return value != 0;
}

KOLK_HD static inline double kolk_f64_of_real(double value)
{
    return value;
}

KOLK_HD static inline float kolk_f32_of_real(double value)
{
    return (float)value;
}

/* ---- out of a whole number ---- */

/* A real that rounds to 16 bits as `value` would. Above 2^53 not every integer is
 * a double: the low bits are dropped then, and one bit says whether any was set. */
KOLK_HD static inline double kolk_real_of_whole(int64_t value)
{
    const uint64_t dropped = ((uint64_t)1 << 11) - 1;
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (size >> 53 != 0)
        size = (size & ~dropped) | ((size & dropped) != 0 ? dropped + 1 : 0);
    return value < 0 ? -(double)size : (double)size;
}

KOLK_HD static inline kolk_f16 kolk_f16_of_whole(int64_t value)
{
    return kolk_f16_of_real(kolk_real_of_whole(value));
}

KOLK_HD static inline kolk_bf16 kolk_bf16_of_whole(int64_t value)
{
    return kolk_bf16_of_real(kolk_real_of_whole(value));
}

KOLK_HD static inline float kolk_f32_of_whole(int64_t value)
{
    return (float)value;
}

KOLK_HD static inline double kolk_f64_of_whole(int64_t value)
{
    return (double)value;
}

KOLK_HD static inline int32_t kolk_i32_of_whole(int64_t value)
{
    return (int32_t)value;
}

KOLK_HD static inline int64_t kolk_i64_of_whole(int64_t value)
{
    return value;
}

KOLK_HD static inline uint8_t kolk_u8_of_whole(int64_t value)
{
    return (uint8_t)value;
}

KOLK_HD static inline bool kolk_bool_of_whole(int64_t value)
{
    return value != 0;
}

KOLK_HD static inline bool kolk_dtype_is_real(kolk_dtype dtype)
{
    return dtype == KOLK_F32 || dtype == KOLK_F64 || dtype == KOLK_F16 ||
           dtype == KOLK_BF16;
}

/* ---- a sum ---- */

/* Sums of two 16-bit floats are exact in a double, or so near to the larger that
 * rounding again changes nothing. */
KOLK_HD static inline kolk_f16 kolk_f16_sum(kolk_f16 a, kolk_f16 b)
{
    return kolk_f16_of_real(kolk_real_of_f16(a) + kolk_real_of_f16(b));
}

KOLK_HD static inline kolk_bf16 kolk_bf16_sum(kolk_bf16 a, kolk_bf16 b)
{
    return kolk_bf16_of_real(kolk_real_of_bf16(a) + kolk_real_of_bf16(b));
}

KOLK_HD static inline float kolk_f32_sum(float a, float b)
{
    return a + b;
}

KOLK_HD static inline double kolk_f64_sum(double a, double b)
{
    return a + b;
}

KOLK_HD static inline int32_t kolk_i32_sum(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

KOLK_HD static inline int64_t kolk_i64_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

KOLK_HD static inline uint8_t kolk_u8_sum(uint8_t a, uint8_t b)
{
    return (uint8_t)(a + b);
}

KOLK_HD static inline bool kolk_bool_sum(bool a, bool b)
{
    return a || b;
}

#endif
