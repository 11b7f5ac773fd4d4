/* SPDX-License-Identifier: MIT */

/* The text has been parsed already, so this only needs to find its way: strings
 * end at the first quote without a backslash before it, a value ends where its
 * brackets are closed, and depth is a number, not recursion. It never looks past
 * the end, whatever the text. */

#include "locate.h"
#include <stdbool.h>
#include <string.h>

typedef struct cursor {
    const char *text;
    size_t size;
    size_t at;
} cursor;

static char peek(const cursor *c)
{
    return c->at < c->size ? c->text[c->at] : '\0';
}

static void skip_space(cursor *c)
{
    while (c->at < c->size && strchr(" \t\r\n", c->text[c->at]) != NULL &&
           c->text[c->at] != '\0')
        c->at++;
}

static void skip_string(cursor *c)
{
    c->at++;
    while (c->at < c->size && c->text[c->at] != '"')
        c->at += c->text[c->at] == '\\' ? 2 : 1;
    c->at++;
}

static void skip_word(cursor *c)
{
    while (c->at < c->size && strchr(",]} \t\r\n", c->text[c->at]) == NULL)
        c->at++;
}

static void skip_value(cursor *c)
{
    size_t depth = 0;
    do {
        const char byte = peek(c);
        if (byte == '"') {
            skip_string(c);
        } else if (byte == '{' || byte == '[') {
            depth++;
            c->at++;
        } else if (byte == '}' || byte == ']') {
            depth -= depth != 0;
            c->at++;
        } else if (depth == 0) {
            skip_word(c);
        } else {
            c->at++;
        }
    } while (depth != 0 && c->at < c->size);
}

/* At a key: whether it is `key`, and on to its value. */
static bool take_key(cursor *c, const char *key)
{
    const size_t start = c->at + 1;
    skip_string(c);
    const size_t size = c->at - 1 > start ? c->at - 1 - start : 0;
    const bool is_key = start + size <= c->size && strlen(key) == size &&
                        memcmp(c->text + start, key, size) == 0;
    skip_space(c);
    c->at++; /* the colon */
    skip_space(c);
    return is_key;
}

/* From an opening bracket to the value that `step` names. */
static bool descend(cursor *c, const kolk_step *step)
{
    if (peek(c) != (step->key != NULL ? '{' : '['))
        return false;
    c->at++;
    for (size_t index = 0; c->at < c->size; index++) {
        skip_space(c);
        if (peek(c) == '}' || peek(c) == ']')
            return false;
        if (step->key != NULL ? take_key(c, step->key) : index == step->index)
            return true;
        skip_value(c);
        skip_space(c);
        c->at += peek(c) == ',';
    }
    return false;
}

size_t kolk_locate(const char *text, size_t size, const kolk_step *steps, size_t count)
{
    cursor c = {text, size, 0};
    skip_space(&c);
    size_t found = c.at;
    for (size_t i = 0; i < count && descend(&c, &steps[i]); i++)
        found = c.at;
    return found < size ? found : size;
}
