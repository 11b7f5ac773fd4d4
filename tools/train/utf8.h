/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TRAIN_UTF8_H
#define KOLK_TRAIN_UTF8_H

/* UTF-8 as RFC 3629 has it: the shortest form only, no surrogates, nothing
 * above U+10FFFF. */

#include <stddef.h>
#include <stdint.h>

/* Length in bytes of the character at the front of `size` bytes, with its code
 * point; 0 if they start no character, or only a part of one. */
size_t train_utf8_decode(const uint8_t *bytes, size_t size, uint32_t *out);

/* The size without a character that has begun at the end but is not whole. */
size_t train_utf8_whole(const uint8_t *bytes, size_t size);

#endif
