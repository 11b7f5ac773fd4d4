/* SPDX-License-Identifier: MIT */

#include "make.h"
#include "budget.h"
#include <inttypes.h>

kolk_maker kolk_make_begin(void)
{
    kolk_budget_set(SIZE_MAX);
    return (kolk_maker){false};
}

json_t *kolk_make_number(uint64_t value)
{
    char digits[24];
    if (value <= INT64_MAX)
        return json_integer((json_int_t)value);
    (void)snprintf(digits, sizeof digits, "%" PRIu64, value);
    return json_string(digits);
}

json_t *kolk_make_address(uint64_t value)
{
    char digits[24];
    (void)snprintf(digits, sizeof digits, "0x%" PRIx64, value);
    return json_string(digits);
}

void kolk_make_set(kolk_maker *maker, json_t *object, const char *key, json_t *value)
{
    maker->has_failed |= json_object_set_new(object, key, value) != 0;
}

void kolk_make_append(kolk_maker *maker, json_t *array, json_t *value)
{
    maker->has_failed |= json_array_append_new(array, value) != 0;
}

void kolk_make_fields(kolk_maker *maker, json_t *object, const void *row,
                      const kolk_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        kolk_make_set(maker, object, fields[i].key,
                      kolk_make_number(kolk_field_get(row, &fields[i])));
}

bool kolk_make_end(kolk_maker *maker, json_t *root, FILE *file)
{
    if (!maker->has_failed) {
        maker->has_failed =
            json_dumpf(root, file, JSON_INDENT(1)) != 0 && !ferror(file);
        putc('\n', file);
    }
    json_decref(root);
    return !maker->has_failed;
}
