/* SPDX-License-Identifier: MIT */
/* The first byte tells the length n and the upper bits of the code point; each
 * of the others adds six. The form is the shortest one exactly when the code
 * point is at least the smallest that n - 1 bytes cannot hold. */
#include "utf8.h"

#include <stdbool.h>

static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

static size_t length_of(uint8_t first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc0 || first >= 0xf8)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

static bool is_character(uint32_t code, size_t length)
{
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    return code >= smallest[length] && code <= 0x10ffff && !is_surrogate;
}

size_t train_utf8_decode(const uint8_t *bytes, size_t size, uint32_t *out)
{
    const size_t length = size ? length_of(bytes[0]) : 0;
    if (length == 0 || length > size)
        return 0;
    uint32_t code = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (!is_continuation(bytes[i]))
            return 0;
        code = code << 6 | (bytes[i] & 0x3fu);
    }
    if (!is_character(code, length))
        return 0;
    *out = code;
    return length;
}

size_t train_utf8_whole(const uint8_t *bytes, size_t size)
{
    for (size_t back = 1; back < 4 && back <= size; back++)
        if (!is_continuation(bytes[size - back]))
            return length_of(bytes[size - back]) > back ? size - back : size;
    return size;
}
