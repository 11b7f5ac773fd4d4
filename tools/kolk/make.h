/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TOOL_MAKE_H
#define KOLK_TOOL_MAKE_H

/* Making JSON documents. Members are set without looking; whether all could be
 * made is asked once, at the end. */

#include "fields.h"
#include <jansson.h>
#include <stdio.h>

typedef struct kolk_maker {
    bool has_failed;
} kolk_maker;

kolk_maker kolk_make_begin(void);

/* Beyond INT64_MAX, a string of the digits. */
json_t *kolk_make_number(uint64_t value);
json_t *kolk_make_address(uint64_t value);

/* Take `value`. */
void kolk_make_set(kolk_maker *maker, json_t *object, const char *key, json_t *value);
void kolk_make_append(kolk_maker *maker, json_t *array, json_t *value);

void kolk_make_fields(kolk_maker *maker, json_t *object, const void *row,
                      const kolk_field *fields, size_t count);

/* Prints and frees `root`. False if a part of it could not be made. */
bool kolk_make_end(kolk_maker *maker, json_t *root, FILE *file);

#endif
