/* SPDX-License-Identifier: MIT */
#ifndef KOLK_POOL_JSON_H
#define KOLK_POOL_JSON_H

/* A JSON text on its way to a file descriptor.
 *
 * The caller says what opens, what closes and where a line ends; commas come by
 * themselves. In every call `key` names the member of the object that is open,
 * or is NULL for an element of the array that is open. Nothing is allocated and
 * nothing depends on the locale. After a write that failed, `error` is its errno
 * and the rest is dropped. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kolk_json {
    int file;
    int error;
    bool comma; /* something stands before what comes next */
    bool line;  /* what comes next starts a line */
    uint64_t flushed;
    size_t used;
    char buffer[16384];
} kolk_json;

/* `file` stays the caller's. */
void kolk_json_init(kolk_json *json, int file);

/* Ends the last line and writes what is still in the buffer; 0, or the errno of the
 * first failure. */
int kolk_json_finish(kolk_json *json);

/* Bytes of text so far. */
uint64_t kolk_json_size(const kolk_json *json);

/* `bracket` is one of [ { and ] }. */
void kolk_json_open(kolk_json *json, const char *key, char bracket);
void kolk_json_close(kolk_json *json, char bracket);

/* Whatever comes next starts a line. */
void kolk_json_line(kolk_json *json);

/* Exact. Beyond INT64_MAX, where readers lose digits, a string of the digits. */
void kolk_json_number(kolk_json *json, const char *key, uint64_t value);

/* A number in [0, 1], rounded to nine digits. */
void kolk_json_fraction(kolk_json *json, const char *key, double value);

void kolk_json_bool(kolk_json *json, const char *key, bool value);

/* A string such as "0x7f0000000000". */
void kolk_json_address(kolk_json *json, const char *key, uint64_t value);

/* Bytes that are no UTF-8 become U+FFFD. */
void kolk_json_string(kolk_json *json, const char *key, const char *text);

#endif
