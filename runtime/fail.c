/* SPDX-License-Identifier: MIT */
#include "fail.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The record is per thread and of fixed size: failing allocates nothing, takes
 * no lock, and one thread never sees another's. */

static _Thread_local kolk_error last = {.where = ""};

/* A cut sentence must not end in half a character. */
static void end_at_character(char *text, size_t end)
{
    while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80)
        end--;
    text[end] = '\0';
}

kolk_status(kolk_fail_at)(const char *where, kolk_status status, int native,
                          const char *format, ...)
{
    char message[sizeof last.message + 1] = "";
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length >= sizeof last.message)
        end_at_character(message, sizeof last.message - 1);
    last = (kolk_error){.status = status, .native = native, .where = where};
    memcpy(last.message, message, sizeof last.message);
    return status;
}

void kolk_error_restore(const kolk_error *record)
{
    last = *record;
}

const kolk_error *kolk_last_error(void)
{
    return &last;
}

const char *kolk_status_name(kolk_status status)
{
    switch (status) {
#define X(name, value, text) \
    case KOLK_##name:        \
        return #name;
        KOLK_STATUS_LIST(X)
#undef X
    }
    return "?";
}

const char *kolk_status_text(kolk_status status)
{
    switch (status) {
#define X(name, value, text) \
    case KOLK_##name:        \
        return text;
        KOLK_STATUS_LIST(X)
#undef X
    }
    return "an unknown status";
}
