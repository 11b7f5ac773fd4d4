/* SPDX-License-Identifier: MIT */

#include "value.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 8, PATH_SIZE = 128 };

/* ---- what is wrong ------------------------------------------------------- */

static size_t steps_to(const kolk_value *value, kolk_step *steps)
{
    size_t count = 0;
    for (const kolk_value *at = value; at->up != NULL && count < DEEPEST; at = at->up)
        count++;
    size_t left = count;
    for (const kolk_value *at = value; left > 0; at = at->up)
        steps[--left] = at->step;
    return count;
}

static void print_path(char *out, const kolk_step *steps, size_t count)
{
    size_t used = 0;
    (void)snprintf(out, PATH_SIZE, "the snapshot");
    for (size_t i = 0; i < count && used < PATH_SIZE; i++) {
        const int wrote =
            steps[i].key == NULL
                ? snprintf(out + used, PATH_SIZE - used, "[%zu]", steps[i].index)
                : snprintf(out + used, PATH_SIZE - used, "%s%s", i == 0 ? "" : ".",
                           steps[i].key);
        used += (size_t)wrote;
    }
}

bool kolk_value_refuse(kolk_reader *reader, const kolk_value *value, const char *fmt,
                       ...)
{
    kolk_step steps[DEEPEST];
    char path[PATH_SIZE], what[96];
    const size_t count = steps_to(value, steps);
    print_path(path, steps, count);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    reader->why->offset = kolk_locate(reader->text, reader->size, steps, count);
    (void)snprintf(reader->why->reason, sizeof reader->why->reason, "%s %s", path,
                   what);
    return false;
}

static const char *type_name(json_type type)
{
    switch (type) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a fraction";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a truth value";
    case JSON_NULL:
        return "null";
    }
    return "nothing";
}

/* ---- the way down -------------------------------------------------------- */

static bool find(kolk_reader *reader, const kolk_value *object, const char *key,
                 kolk_value *out)
{
    out->up = object;
    out->step = (kolk_step){.key = key};
    out->json = json_object_get(object->json, key);
    return out->json != NULL || kolk_value_refuse(reader, object, "has no \"%s\"", key);
}

static bool expect(kolk_reader *reader, const kolk_value *value, json_type type)
{
    return json_typeof(value->json) == type ||
           kolk_value_refuse(reader, value, "is %s, not %s",
                             type_name(json_typeof(value->json)), type_name(type));
}

bool kolk_value_member(kolk_reader *reader, const kolk_value *object, const char *key,
                       json_type type, kolk_value *out)
{
    return find(reader, object, key, out) && expect(reader, out, type);
}

bool kolk_value_row(kolk_reader *reader, const kolk_value *array, size_t index,
                    kolk_value *out)
{
    out->up = array;
    out->step = (kolk_step){.index = index};
    out->json = json_array_get(array->json, index);
    return expect(reader, out, JSON_OBJECT);
}

/* ---- leaves -------------------------------------------------------------- */

/* All of `text` is a number in base 10 or 16, without sign or blanks. */
static bool parse_digits(const char *text, int base, uint64_t *out)
{
    const char *const digits = base == 16 ? "0123456789abcdef" : "0123456789";
    if (text[0] == '\0' || text[strspn(text, digits)] != '\0')
        return false;
    errno = 0;
    *out = strtoull(text, NULL, base);
    return errno == 0;
}

bool kolk_value_number(kolk_reader *reader, const kolk_value *object, const char *key,
                       uint64_t *out)
{
    kolk_value value;
    if (!find(reader, object, key, &value))
        return false;
    if (json_is_string(value.json) &&
        parse_digits(json_string_value(value.json), 10, out))
        return true;
    if (!expect(reader, &value, JSON_INTEGER))
        return false;
    const json_int_t number = json_integer_value(value.json);
    *out = (uint64_t)number;
    return number >= 0 ||
           kolk_value_refuse(reader, &value, "is %lld, below 0", (long long)number);
}

bool kolk_value_address(kolk_reader *reader, const kolk_value *object, const char *key,
                        uint64_t *out)
{
    kolk_value value;
    if (!kolk_value_member(reader, object, key, JSON_STRING, &value))
        return false;
    const char *const text = json_string_value(value.json);
    return (strncmp(text, "0x", 2) == 0 && parse_digits(text + 2, 16, out)) ||
           kolk_value_refuse(reader, &value, "is no address of the form \"0x7f00\"");
}

bool kolk_value_fraction(kolk_reader *reader, const kolk_value *object, const char *key,
                         double *out)
{
    kolk_value value;
    if (!find(reader, object, key, &value))
        return false;
    if (!json_is_number(value.json))
        return expect(reader, &value, JSON_REAL);
    *out = json_number_value(value.json);
    return (*out >= 0 && *out <= 1) ||
           kolk_value_refuse(reader, &value, "is %g, not between 0 and 1", *out);
}

bool kolk_value_bool(kolk_reader *reader, const kolk_value *object, const char *key,
                     bool *out)
{
    kolk_value value;
    if (!find(reader, object, key, &value))
        return false;
    *out = json_is_true(value.json);
    return json_is_boolean(value.json) || expect(reader, &value, JSON_TRUE);
}

bool kolk_value_text(kolk_reader *reader, const kolk_value *object, const char *key,
                     char out[KOLK_TEXT_SIZE])
{
    kolk_value value;
    if (!kolk_value_member(reader, object, key, JSON_STRING, &value))
        return false;
    const size_t length = json_string_length(value.json);
    if (length >= KOLK_TEXT_SIZE)
        return kolk_value_refuse(reader, &value, "is %zu bytes long, more than %d",
                                 length, KOLK_TEXT_SIZE - 1);
    memcpy(out, json_string_value(value.json), length + 1);
    return true;
}
