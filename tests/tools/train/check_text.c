/* SPDX-License-Identifier: MIT */
/* How kolk-train reads a text and cuts it into minibatches. */
#include "batch.h"
#include "failure.h"
#include "suite.h"
#include "text.h"
#include "utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static train_text parse(const char *words)
{
    train_text text;
    ck_assert_int_eq(
        train_text_parse("text", (const uint8_t *)words, strlen(words), &text),
        KOLK_OK);
    return text;
}

/* ---- UTF-8 --------------------------------------------------------------- */

static const struct {
    const char *name, *bytes;
    size_t length; /* 0: refused */
    uint32_t code;
} encodings[] = {
    {"ascii", "A", 1, 'A'},
    {"last of one", "\x7f", 1, 0x7f},
    {"first of two", "\xc2\x80", 2, 0x80},
    {"last of two", "\xdf\xbf", 2, 0x7ff},
    {"first of three", "\xe0\xa0\x80", 3, 0x800},
    {"below surrogates", "\xed\x9f\xbf", 3, 0xd7ff},
    {"above surrogates", "\xee\x80\x80", 3, 0xe000},
    {"last of three", "\xef\xbf\xbf", 3, 0xffff},
    {"first of four", "\xf0\x90\x80\x80", 4, 0x10000},
    {"last of all", "\xf4\x8f\xbf\xbf", 4, 0x10ffff},
    {"two followed by more", "\xc3\xa9!", 2, 0xe9},
    {"nothing", "", 0, 0},
    {"continuation alone", "\x80", 0, 0},
    {"two cut", "\xc2", 0, 0},
    {"three cut", "\xe2\x82", 0, 0},
    {"four cut", "\xf0\x9f\x98", 0, 0},
    {"two without continuation", "\xc2\x41", 0, 0},
    {"four without third", "\xf0\x9f\x41\x80", 0, 0},
    {"one in two bytes", "\xc1\xbf", 0, 0},
    {"two in three bytes", "\xe0\x9f\xbf", 0, 0},
    {"three in four bytes", "\xf0\x8f\xbf\xbf", 0, 0},
    {"first surrogate", "\xed\xa0\x80", 0, 0},
    {"last surrogate", "\xed\xbf\xbf", 0, 0},
    {"above the last", "\xf4\x90\x80\x80", 0, 0},
    {"five bytes", "\xf8\x88\x80\x80\x80", 0, 0},
    {"ff", "\xff", 0, 0},
};

START_TEST(utf8_takes_exactly_what_the_standard_allows)
{
    const char *const bytes = encodings[_i].bytes;
    uint32_t code = 0;
    const size_t length =
        train_utf8_decode((const uint8_t *)bytes, strlen(bytes), &code);
    ck_assert_msg(length == encodings[_i].length && code == encodings[_i].code,
                  "%s: length %zu, code %x", encodings[_i].name, length, code);
}
END_TEST

static const struct {
    const char *bytes;
    size_t whole;
} cuts[] = {
    {"", 0},          {"ab", 2},        {"a\xc3", 1},         {"a\xc3\xa9", 3},
    {"a\xe2\x82", 1}, {"a\xf0\x9f", 1}, {"a\xf0\x9f\x98", 1}, {"\xf0\x9f\x98\x80", 4},
    {"\x80\x80", 2},  {"\xe2", 0},      {"a\xe2\x82\xac", 4},
};

START_TEST(a_cut_character_is_left_out)
{
    const char *const bytes = cuts[_i].bytes;
    ck_assert_uint_eq(train_utf8_whole((const uint8_t *)bytes, strlen(bytes)),
                      cuts[_i].whole);
}
END_TEST

/* ---- text ---------------------------------------------------------------- */

START_TEST(ids_are_ranks_of_the_characters_that_occur)
{
    train_text text KOLK_AUTO(train_text_close) = parse("b\xc3\xa9"
                                                        "a\nb\n");
    const int32_t expected[] = {2, 3, 1, 0, 2, 0};
    ck_assert_int_eq(text.vocabulary, 4);
    ck_assert_uint_eq(text.characters[3], 0xe9);
    ck_assert_int_eq(text.count, 6);
    ck_assert_mem_eq(text.ids, expected, sizeof expected);
    ck_assert_int_eq(text.newline, 0);
}
END_TEST

START_TEST(newline_has_an_id_even_where_it_does_not_occur)
{
    char words[TRAIN_LINE_MAX + 2];
    memset(words, 'x', sizeof words);
    words[sizeof words - 1] = '\0';
    train_text text KOLK_AUTO(train_text_close) = parse(words);
    ck_assert_int_eq(text.vocabulary, 2);
    ck_assert_uint_eq(text.characters[text.newline], '\n');
}
END_TEST

START_TEST(every_tenth_line_is_held_out)
{
    char words[61] = "";
    for (int line = 0; line < 30; line++)
        memcpy(words + 2 * line, line % 10 == 9 ? "h\n" : "t\n", 3);
    train_text text KOLK_AUTO(train_text_close) = parse(words);
    ck_assert_int_eq(text.train.count, 27);
    ck_assert_int_eq(text.held_out.count, 3);
    ck_assert_int_eq(text.train.characters, 54);
    ck_assert_int_eq(text.held_out.characters, 6);
    for (int64_t i = 0; i < text.held_out.count; i++)
        ck_assert_uint_eq(text.characters[text.ids[text.held_out.at[i].begin]], 'h');
}
END_TEST

START_TEST(the_last_of_few_lines_is_held_out)
{
    train_text text KOLK_AUTO(train_text_close) = parse("one\ntwo\nthree");
    ck_assert_int_eq(text.train.count, 2);
    ck_assert_int_eq(text.train.characters, 8);
    ck_assert_int_eq(text.held_out.count, 1);
    ck_assert_int_eq(text.held_out.at[0].begin, 8);
    ck_assert_int_eq(text.held_out.at[0].end, 13);
}
END_TEST

START_TEST(a_long_line_is_cut_but_remembers_its_start)
{
    char words[2 * TRAIN_LINE_MAX + 6];
    memset(words, 'x', sizeof words);
    memcpy(words + 2 * TRAIN_LINE_MAX, "yz\nw\n", 6);
    train_text text KOLK_AUTO(train_text_close) = parse(words);
    ck_assert_int_eq(text.train.count, 3);
    for (int64_t i = 0; i < 3; i++) {
        ck_assert_int_eq(text.train.at[i].start, 0);
        ck_assert_int_eq(text.train.at[i].begin, i * TRAIN_LINE_MAX);
    }
    ck_assert_int_eq(text.train.at[2].end, 2 * TRAIN_LINE_MAX + 3);
    ck_assert_int_eq(text.held_out.at[0].start, 2 * TRAIN_LINE_MAX + 3);
}
END_TEST

/* Training part "ab\n" and "aa\n": a 3, b 1, newline 2, plus one each of 9.
 * Held out "b\n". */
START_TEST(unigram_entropy_is_of_the_held_out_part_under_the_other)
{
    train_text text KOLK_AUTO(train_text_close) = parse("ab\naa\nb\n");
    const double expected = -(log(2.0 / 9.0) + log(3.0 / 9.0)) / 2.0;
    ck_assert_double_eq_tol(train_text_unigram_entropy(&text), expected, 1e-12);
}
END_TEST

START_TEST(unigram_entropy_stays_finite_for_an_unknown_character)
{
    train_text text KOLK_AUTO(train_text_close) = parse("aa\nz");
    ck_assert_double_eq_tol(train_text_unigram_entropy(&text), log(6.0), 1e-12);
}
END_TEST

static const struct {
    const char *bytes, *message;
} bad_texts[] = {
    {"", "text: the file is empty"},
    {"only one line\n", "text: too short: 1 line of 14 characters, but it takes 2"},
    {"good\nb\xc3", "text: byte 0xc3 at offset 6 does not start a character of UTF-8"},
    {"\xff\xfe"
     "a",
     "text: byte 0xff at offset 0"},
};

START_TEST(a_bad_text_is_refused_and_nothing_changes)
{
    train_text text = {.count = 77};
    const char *const bytes = bad_texts[_i].bytes;
    ck_assert_int_eq(
        train_text_parse("text", (const uint8_t *)bytes, strlen(bytes), &text),
        KOLK_CORRUPT);
    ck_assert_int_eq(text.count, 77);
    const char *const message = train_failure();
    ck_assert_msg(
        strncmp(message, bad_texts[_i].message, strlen(bad_texts[_i].message)) == 0,
        "%s", message);
}
END_TEST

/* ---- minibatches --------------------------------------------------------- */

/* `count` lines of 2 to 60 letters. */
static train_text lines_of_many_lengths(int count)
{
    char *const words = calloc((size_t)count, 64);
    size_t at = 0;
    for (int line = 0; line < count; line++) {
        for (int i = 0; i < 1 + line * 7 % 59; i++)
            words[at++] = (char)('a' + (line + i) % 26);
        words[at++] = '\n';
    }
    const train_text text = parse(words);
    free(words);
    return text;
}

START_TEST(context_is_newlines_before_the_line_begins)
{
    train_text text KOLK_AUTO(train_text_close) = parse("xy\nab\nq\n");
    train_batches batches KOLK_AUTO(train_batches_close) = {0};
    train_batches_open(&text, &text.train, 2, TRAIN_LINE_MAX, &batches);
    ck_assert(train_batches_next(&batches));
    const int32_t newline = 0, a = 1, b = 2, x = 4, y = 5;
    const int32_t ids[] = {newline, newline, newline, x, x, y,
                           newline, newline, newline, a, a, b};
    const int32_t targets[] = {x, y, newline, a, b, newline};
    ck_assert_int_eq(batches.count, 6);
    ck_assert_mem_eq(batches.ids, ids, sizeof ids);
    ck_assert_mem_eq(batches.targets, targets, sizeof targets);
    ck_assert(!train_batches_next(&batches));
    ck_assert(train_batches_next(&batches));
}
END_TEST

START_TEST(a_pass_takes_every_line_once_in_whole_lines)
{
    train_text text KOLK_AUTO(train_text_close) = lines_of_many_lengths(200);
    train_batches batches KOLK_AUTO(train_batches_close) = {0};
    train_batches_open(&text, &text.held_out, 3, TRAIN_LINE_MAX, &batches);
    int64_t seen = 0;
    while (train_batches_next(&batches)) {
        ck_assert_int_le(batches.count, TRAIN_LINE_MAX);
        ck_assert_int_eq(batches.targets[batches.count - 1], text.newline);
        seen += batches.count;
    }
    ck_assert_int_eq(seen, text.held_out.characters);
}
END_TEST

START_TEST(training_starts_with_the_fullest_minibatch_and_sizes_differ)
{
    train_text text KOLK_AUTO(train_text_close) = lines_of_many_lengths(200);
    train_batches batches KOLK_AUTO(train_batches_close) = {0};
    train_batches_open(&text, &text.train, 3, TRAIN_LINE_MAX, &batches);
    train_batches_shuffle(&batches, 5);
    ck_assert(train_batches_next(&batches));
    ck_assert_int_eq(batches.count, TRAIN_LINE_MAX);
    bool differs = false;
    for (int i = 0; i < 20 && train_batches_next(&batches); i++) {
        ck_assert_int_le(batches.count, TRAIN_LINE_MAX);
        differs |= batches.count != TRAIN_LINE_MAX;
    }
    ck_assert(differs);
}
END_TEST

START_TEST(the_order_of_lines_follows_the_seed)
{
    train_text text KOLK_AUTO(train_text_close) = lines_of_many_lengths(100);
    train_batches batches[3];
    const uint64_t seeds[3] = {1, 1, 2};
    for (int i = 0; i < 3; i++) {
        train_batches_open(&text, &text.train, 3, TRAIN_LINE_MAX, &batches[i]);
        train_batches_shuffle(&batches[i], seeds[i]);
        ck_assert(train_batches_next(&batches[i]));
    }
    const size_t size = TRAIN_LINE_MAX * sizeof(int32_t);
    ck_assert_mem_eq(batches[0].targets, batches[1].targets, size);
    ck_assert_mem_ne(batches[0].targets, batches[2].targets, size);
    for (int i = 0; i < 3; i++)
        train_batches_close(&batches[i]);
}
END_TEST

static Suite *suite(void)
{
    Suite *const suite = suite_create("train_text");
    TCase *const tc = tcase_create("core");
    tcase_add_loop_test(tc, utf8_takes_exactly_what_the_standard_allows, 0,
                        sizeof encodings / sizeof *encodings);
    tcase_add_loop_test(tc, a_cut_character_is_left_out, 0, sizeof cuts / sizeof *cuts);
    tcase_add_test(tc, ids_are_ranks_of_the_characters_that_occur);
    tcase_add_test(tc, newline_has_an_id_even_where_it_does_not_occur);
    tcase_add_test(tc, every_tenth_line_is_held_out);
    tcase_add_test(tc, the_last_of_few_lines_is_held_out);
    tcase_add_test(tc, a_long_line_is_cut_but_remembers_its_start);
    tcase_add_test(tc, unigram_entropy_is_of_the_held_out_part_under_the_other);
    tcase_add_test(tc, unigram_entropy_stays_finite_for_an_unknown_character);
    tcase_add_loop_test(tc, a_bad_text_is_refused_and_nothing_changes, 0,
                        sizeof bad_texts / sizeof *bad_texts);
    tcase_add_test(tc, context_is_newlines_before_the_line_begins);
    tcase_add_test(tc, a_pass_takes_every_line_once_in_whole_lines);
    tcase_add_test(tc, training_starts_with_the_fullest_minibatch_and_sizes_differ);
    tcase_add_test(tc, the_order_of_lines_follows_the_seed);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return kolk_run_suite(suite());
}
