/* SPDX-License-Identifier: MIT */
#include "corrupt.h"
#include "../../tools/kolk/dump.h"
#include "../../tools/kolk/report.h"
#include <stdlib.h>
#include <string.h>

static size_t pick(uint64_t *seed, size_t count)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)((*seed >> 33) % count);
}

/* Replaces `gone` bytes at `at` by `text`. */
static void splice(corrupt_text *t, size_t at, size_t gone, const char *text)
{
    const size_t come = strlen(text), rest = t->size - at - gone;
    char *const data = malloc(t->size - gone + come + 1);
    if (data == NULL)
        abort();
    memcpy(data, t->data, at);
    memcpy(data + at, text, come);
    memcpy(data + at + come, t->data + at + gone, rest);
    free(t->data);
    t->data = data;
    t->size += come - gone;
    t->data[t->size] = '\0';
}

static void flip_bit(corrupt_text *t, uint64_t *seed)
{
    t->data[pick(seed, t->size)] ^= (char)(1u << pick(seed, 8));
}

static void cut_end(corrupt_text *t, uint64_t *seed)
{
    splice(t, pick(seed, t->size), 0, "");
    t->size = pick(seed, t->size) + 1;
}

static void cut_out(corrupt_text *t, uint64_t *seed)
{
    const size_t at = pick(seed, t->size);
    splice(t, at, pick(seed, t->size - at), "");
}

static void insert(corrupt_text *t, uint64_t *seed)
{
    static const char *const pieces[] = {
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\n",
        "null",
        "-",
        "\xff",
        "\\u0000",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
        "\"state\":",
        "\"size\":1,\"size\":2,",
        "{\"address\":\"0x0\",\"size\":0,\"state\":\"inactive\"},",
    };
    splice(t, pick(seed, t->size), 0,
           pieces[pick(seed, sizeof pieces / sizeof pieces[0])]);
}

/* The start of a run of digits at or after a random place. */
static size_t find_digits(const corrupt_text *t, uint64_t *seed)
{
    size_t at = pick(seed, t->size);
    while (at < t->size && (t->data[at] < '0' || t->data[at] > '9'))
        at++;
    return at;
}

static void edit_number(corrupt_text *t, uint64_t *seed)
{
    static const char *const numbers[] = {
        "0",
        "1",
        "255",
        "-1",
        "1e9",
        "0.5",
        "9223372036854775807",
        "1e999",
        "\"9223372036854775808\"",
        "\"18446744073709551615\"",
        "18446744073709551616",
        "4096",
        "99999999999",
        "ffffffffffffffff",
        "true",
        "{}",
    };
    const size_t at = find_digits(t, seed);
    size_t end = at;
    while (end < t->size && t->data[end] >= '0' && t->data[end] <= '9')
        end++;
    splice(t, at, end - at, numbers[pick(seed, sizeof numbers / sizeof numbers[0])]);
}

static size_t line_start(const corrupt_text *t, size_t at)
{
    while (at > 0 && t->data[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(const corrupt_text *t, size_t at)
{
    while (at < t->size && t->data[at] != '\n')
        at++;
    return at < t->size ? at + 1 : at;
}

static void drop_line(corrupt_text *t, uint64_t *seed)
{
    const size_t at = line_start(t, pick(seed, t->size));
    splice(t, at, line_end(t, at) - at, "");
}

static void repeat_line(corrupt_text *t, uint64_t *seed)
{
    const size_t at = line_start(t, pick(seed, t->size)), end = line_end(t, at);
    char *const line = malloc(end - at + 1);
    if (line == NULL)
        abort();
    memcpy(line, t->data + at, end - at);
    line[end - at] = '\0';
    splice(t, line_start(t, pick(seed, t->size)), 0, line);
    free(line);
}

corrupt_text corrupt(const char *text, size_t size, uint64_t *seed)
{
    static void (*const ways[])(corrupt_text *, uint64_t *) = {
        flip_bit,    cut_end,     cut_out,   insert,      edit_number,
        edit_number, edit_number, drop_line, repeat_line,
    };
    corrupt_text t = {malloc(size + 1), size};
    if (t.data == NULL)
        abort();
    memcpy(t.data, text, size);
    t.data[size] = '\0';
    for (size_t left = 1 + pick(seed, 2) * pick(seed, 4); left > 0 && t.size > 0;
         left--)
        ways[pick(seed, sizeof ways / sizeof ways[0])](&t, seed);
    return t;
}

static void check_complaint(const kolk_complaint *why, size_t size)
{
    if (why->offset <= size && why->reason[0] != '\0')
        return;
    fprintf(stderr, "bad complaint: offset %zu of %zu: %s\n", why->offset, size,
            why->reason);
    abort();
}

bool corrupt_use(const char *text, size_t size, FILE *sink)
{
    const kolk_page page = {.file = sink, .rows = 20, .has_colour = true};
    kolk_complaint why = {0};
    kolk_findings findings;
    kolk_snapshot *snapshot KOLK_AUTO(kolk_snapshot_destroy) =
        kolk_snapshot_parse(text, size, &why);
    if (snapshot == NULL) {
        check_complaint(&why, size);
        return false;
    }
    kolk_dump_print(&page, snapshot);
    if (!kolk_dump_json(sink, snapshot) || !kolk_snapshot_check(snapshot, &findings))
        abort();
    kolk_report_print(&page, &findings);
    return true;
}
