/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TOOL_LOCATE_H
#define KOLK_TOOL_LOCATE_H

/* Where in a JSON text a value stands. The parser does not keep that, and it is
 * wanted only once a value was found bad, so the text is walked again then. */

#include <stddef.h>

/* One step down from the root: a member of an object, or an element. */
typedef struct kolk_step {
    const char *key; /* NULL: element `index` of an array */
    size_t index;
} kolk_step;

/* The offset of the value that `count` steps lead to in `text`, a well-formed
 * JSON text; where a step leads nowhere, that of the value before it. */
size_t kolk_locate(const char *text, size_t size, const kolk_step *steps, size_t count);

#endif
