/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TOOL_VALUE_H
#define KOLK_TOOL_VALUE_H

/* Values of a parsed text, each with the way that leads to it.
 *
 * A function that returns bool says whether the value was as it must be; if not,
 * the reader's complaint names the value, what is wrong and where it stands. */

#include "locate.h"
#include "snapshot.h"
#include <jansson.h>

typedef struct kolk_reader {
    const char *text;
    size_t size;
    kolk_complaint *why;
} kolk_reader;

typedef struct kolk_value {
    const struct kolk_value *up; /* NULL: the root */
    kolk_step step;
    json_t *json;
} kolk_value;

bool kolk_value_refuse(kolk_reader *reader, const kolk_value *value, const char *fmt,
                       ...) KOLK_PRINTF(3, 4);

/* The member `key` of an object, which must be there and have that type. */
bool kolk_value_member(kolk_reader *reader, const kolk_value *object, const char *key,
                       json_type type, kolk_value *out);

/* Element `index` of an array, which must be an object. */
bool kolk_value_row(kolk_reader *reader, const kolk_value *array, size_t index,
                    kolk_value *out);

/* Members of an object, which must be there. Numbers are any uint64_t. */
bool kolk_value_number(kolk_reader *reader, const kolk_value *object, const char *key,
                       uint64_t *out);
bool kolk_value_address(kolk_reader *reader, const kolk_value *object, const char *key,
                        uint64_t *out);
bool kolk_value_fraction(kolk_reader *reader, const kolk_value *object, const char *key,
                         double *out);
bool kolk_value_bool(kolk_reader *reader, const kolk_value *object, const char *key,
                     bool *out);
bool kolk_value_text(kolk_reader *reader, const kolk_value *object, const char *key,
                     char out[KOLK_TEXT_SIZE]);

#endif
