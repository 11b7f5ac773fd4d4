/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

/* Two flags are the whole state: a value or an opening bracket needs a comma
 * before it unless it is the first inside its brackets, or follows its key. An
 * opening bracket and a key clear `comma`, everything else sets it. */

#include "json.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void kolk_json_init(kolk_json *json, int file)
{
    json->file = file;
    json->error = 0;
    json->comma = json->line = false;
    json->flushed = 0;
    json->used = 0;
}

static void flush(kolk_json *json)
{
    size_t done = 0;
    while (done < json->used && json->error == 0) {
        const ssize_t wrote = write(json->file, json->buffer + done, json->used - done);
        if (wrote > 0)
            done += (size_t)wrote;
        else if (wrote == 0)
            json->error = EIO;
        else if (errno != EINTR)
            json->error = errno;
    }
    json->flushed += json->used;
    json->used = 0;
}

uint64_t kolk_json_size(const kolk_json *json)
{
    return json->flushed + json->used;
}

static void put(kolk_json *json, char byte)
{
    if (json->used == sizeof json->buffer)
        flush(json);
    json->buffer[json->used++] = byte;
}

int kolk_json_finish(kolk_json *json)
{
    if (json->line)
        put(json, '\n');
    flush(json);
    return json->error;
}

static void puts_raw(kolk_json *json, const char *text)
{
    while (*text != '\0')
        put(json, *text++);
}

/* Length of the UTF-8 sequence that starts at `text`, 0 if there is none. */
static size_t sequence_size(const unsigned char *text)
{
    const unsigned lead = text[0];
    if (lead < 0x80)
        return 1;
    const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((text[i] & 0xc0u) != 0x80)
            return 0;
    const bool is_long =
        (lead == 0xe0 && text[1] < 0xa0) || (lead == 0xf0 && text[1] < 0x90);
    const bool is_surrogate = lead == 0xed && text[1] > 0x9f;
    const bool is_beyond = lead == 0xf4 && text[1] > 0x8f;
    return is_long || is_surrogate || is_beyond ? 0 : size;
}

static void put_escaped(kolk_json *json, unsigned char byte)
{
    char escape[8];
    if (byte == '"' || byte == '\\') {
        put(json, '\\');
        put(json, (char)byte);
    } else if (byte < 0x20 || byte == 0x7f) {
        (void)snprintf(escape, sizeof escape, "\\u%04x", byte);
        puts_raw(json, escape);
    } else {
        put(json, (char)byte);
    }
}

static void put_string(kolk_json *json, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    put(json, '"');
    while (*at != '\0') {
        const size_t size = sequence_size(at);
        if (size == 0)
            puts_raw(json, "\\ufffd");
        for (size_t i = 0; i < size; i++)
            put_escaped(json, at[i]);
        at += size == 0 ? 1 : size;
    }
    put(json, '"');
}

static void separate(kolk_json *json)
{
    if (json->comma)
        put(json, ',');
    if (json->line)
        put(json, '\n');
    json->line = false;
}

static void begin(kolk_json *json, const char *key)
{
    separate(json);
    if (key != NULL) {
        put_string(json, key);
        put(json, ':');
    }
    json->comma = true;
}

void kolk_json_open(kolk_json *json, const char *key, char bracket)
{
    begin(json, key);
    put(json, bracket);
    json->comma = false;
}

void kolk_json_close(kolk_json *json, char bracket)
{
    json->comma = false;
    separate(json);
    put(json, bracket);
    json->comma = true;
}

void kolk_json_line(kolk_json *json)
{
    json->line = true;
}

void kolk_json_number(kolk_json *json, const char *key, uint64_t value)
{
    char digits[32];
    const char *const quote = value > INT64_MAX ? "\"" : "";
    begin(json, key);
    (void)snprintf(digits, sizeof digits, "%s%" PRIu64 "%s", quote, value, quote);
    puts_raw(json, digits);
}

void kolk_json_fraction(kolk_json *json, const char *key, double value)
{
    const double bounded = value >= 0 ? value < 1 ? value : 1 : 0;
    const unsigned billionths = (unsigned)(bounded * 1e9 + 0.5);
    char digits[32];
    begin(json, key);
    (void)snprintf(digits, sizeof digits, "%u.%09u", billionths / 1000000000u,
                   billionths % 1000000000u);
    puts_raw(json, digits);
}

void kolk_json_bool(kolk_json *json, const char *key, bool value)
{
    begin(json, key);
    puts_raw(json, value ? "true" : "false");
}

void kolk_json_address(kolk_json *json, const char *key, uint64_t value)
{
    char digits[32];
    begin(json, key);
    (void)snprintf(digits, sizeof digits, "\"0x%" PRIx64 "\"", value);
    puts_raw(json, digits);
}

void kolk_json_string(kolk_json *json, const char *key, const char *text)
{
    begin(json, key);
    put_string(json, text);
}
