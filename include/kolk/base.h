/* SPDX-License-Identifier: MIT */
#ifndef KOLK_BASE_H
#define KOLK_BASE_H

/** @file
 * Words every other header uses: symbol export, C++ guards, and the three
 * ownership idioms.
 *
 *   const T *   borrowed, read only
 *   T *         borrowed, may be changed
 *   T **        ownership crosses here: create fills it, destroy empties it
 *
 * Handles (kolk_pool, kolk_stream, kolk_block, ...) are incomplete types: they
 * cannot be copied, measured or put on the stack. Values (kolk_device,
 * kolk_view, configurations) are open structs that own nothing; all-zero is
 * always a meaningful value of them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define KOLK_BEGIN extern "C" {
#define KOLK_END }
#else
#define KOLK_BEGIN
#define KOLK_END
#endif

#if defined(__GNUC__)
#define KOLK_API __attribute__((visibility("default")))
#define KOLK_NODISCARD __attribute__((warn_unused_result))
#define KOLK_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
/** Runs `destroy(&var)` when `var` leaves scope. Every destroy has that shape. */
#define KOLK_AUTO(destroy) __attribute__((cleanup(destroy)))
#else
#define KOLK_API
#define KOLK_NODISCARD
#define KOLK_PRINTF(fmt, args)
/* No KOLK_AUTO: code that needs it must not compile without it. */
#endif

/* Callers are told about NULL at compile time; the library itself is built
 * without the attribute, so that its assertions are not optimised away. */
#if defined(__GNUC__) && !defined(KOLK_BUILD)
#define KOLK_NONNULL __attribute__((nonnull))
#define KOLK_NONNULL_AT(...) __attribute__((nonnull(__VA_ARGS__)))
#else
#define KOLK_NONNULL
#define KOLK_NONNULL_AT(...)
#endif

#endif
