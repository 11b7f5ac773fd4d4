/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "../../tools/kolk/check.h"
#include "../support/suite.h"
#include "file.h"
#include "scene.h"
#include <stdlib.h>
#include <string.h>

static char *folder, *paged, *plain;

static void open_scene(void)
{
    folder = folder_make();
    ck_assert_ok(scene_write(path_in(folder, "paged"), 20, false));
    paged = file_read(path_in(folder, "paged"), NULL);
    ck_assert_ok(scene_write(path_in(folder, "plain"), 40, true));
    plain = file_read(path_in(folder, "plain"), NULL);
}

static void close_scene(void)
{
    folder_remove(&folder);
    text_free(&paged);
    text_free(&plain);
}

static kolk_snapshot *must_parse(const char *text)
{
    kolk_complaint why;
    kolk_snapshot *const snapshot = kolk_snapshot_parse(text, strlen(text), &why);
    ck_assert_msg(snapshot != NULL, "offset %zu: %s", why.offset, why.reason);
    return snapshot;
}

static void must_refuse(const char *text, size_t size, kolk_complaint *why)
{
    *why = (kolk_complaint){.offset = SIZE_MAX};
    ck_assert_ptr_null(kolk_snapshot_parse(text, size, why));
    ck_assert_uint_le(why->offset, size);
    ck_assert_uint_gt(strlen(why->reason), 0);
}

START_TEST(what_the_pool_wrote_is_read_and_holds_together)
{
    kolk_findings findings;
    kolk_snapshot *snapshot KOLK_AUTO(kolk_snapshot_destroy) =
        must_parse(_i == 0 ? paged : plain);
    ck_assert_str_eq(snapshot->name, "scene \"\xc3\xbc\"");
    ck_assert_str_eq(snapshot->device_kind, "host");
    ck_assert_uint_eq(snapshot->limit, 1 << 30);
    ck_assert_uint_eq(snapshot->tag_count, KOLK_TAG_COUNT);
    ck_assert_uint_eq(snapshot->call_count, KOLK_CALL_COUNT);
    ck_assert_uint_eq(snapshot->allocs, _i == 0 ? 200 : 400);
    ck_assert_uint_gt(snapshot->requested.current, 0);
    ck_assert(_i == 0 ? snapshot->segment_count == 1 : snapshot->segment_count > 3);
    ck_assert(kolk_snapshot_check(snapshot, &findings));
    for (size_t i = 0; i < findings.count; i++)
        ck_assert_msg(findings.identities[i].violations == 0, "%s: %s",
                      findings.identities[i].name, findings.identities[i].detail);
}
END_TEST

START_TEST(numbers_up_to_the_largest_are_read_exactly)
{
    char *text KOLK_AUTO(text_free) =
        text_edit(paged, "statistics", "num_ooms", "\"18446744073709551615\"");
    kolk_snapshot *snapshot KOLK_AUTO(kolk_snapshot_destroy) = must_parse(text);
    ck_assert_uint_eq(snapshot->ooms, UINT64_MAX);
}
END_TEST

START_TEST(keys_of_a_later_version_are_ignored)
{
    char *text KOLK_AUTO(text_free) =
        text_edit(paged, "segments\":[", "size", "4096,\"colour\":{\"of\":[1,null]}");
    char *more KOLK_AUTO(text_free) =
        text_edit(text, "{", "process", "1,\"host\":\"name\",\"cgroup\":null");
    kolk_snapshot *snapshot KOLK_AUTO(kolk_snapshot_destroy) = must_parse(more);
    ck_assert_uint_eq(snapshot->process, 1);
}
END_TEST

START_TEST(a_later_version_is_refused_with_both_numbers)
{
    kolk_complaint why;
    char *text KOLK_AUTO(text_free) = text_edit(paged, "{", "version", "2");
    must_refuse(text, strlen(text), &why);
    ck_assert_str_eq(why.reason,
                     "version is 2: this kolk reads up to 1, a newer one is needed");
    ck_assert_int_eq(text[why.offset], '2');
}
END_TEST

START_TEST(a_text_cut_anywhere_is_refused)
{
    kolk_complaint why;
    const size_t size = strlen(paged);
    for (size_t cut = 1; cut < size - 1; cut += 37) {
        must_refuse(paged, cut, &why);
        ck_assert_msg(strstr(why.reason, "cut short") != NULL, "at %zu: %s", cut,
                      why.reason);
    }
}
END_TEST

/* The value of `key` after `anchor` is `value`: the complaint is `reason`, and
 * its offset is where the value starts unless `reason` is about what is around. */
static const struct {
    const char *anchor, *key, *value, *reason;
} hostile[] = {
    {"{", "format", "\"pickle\"", "format is not \"kolk-snapshot\""},
    {"{", "format", "7", "format is an integer, not a string"},
    {"{", "version", "0", "version is 0"},
    {"{", "version", "\"1x\"", "version is a string, not an integer"},
    {"{", "process", "-1", "process is -1, below 0"},
    {"{", "process", "1.5", "process is a fraction, not an integer"},
    {"{", "process", "true", "process is a truth value, not an integer"},
    {"{", "process", "\"18446744073709551616\"", "process is a string, not an integer"},
    {"{", "process", "\"\"", "process is a string, not an integer"},
    {"{", "device", "[]", "device is an array, not an object"},
    {"device", "is_integrated", "0",
     "device.is_integrated is an integer, not a truth value"},
    {"configuration", "limit_fraction", "1.5",
     "configuration.limit_fraction is 1.5, not between 0 and 1"},
    {"configuration", "limit_fraction", "null",
     "configuration.limit_fraction is null, not a fraction"},
    {"statistics", "peak", "{}",
     "statistics.requested_bytes.peak is an object, not an integer"},
    {"calls", "count", "[]", "calls[0].count is an array, not an integer"},
    {"tags", "tag", "null", "tags[0].tag is null, not a string"},
    {"segments\":[", "address", "\"7f00\"", "segments[0].address is no address"},
    {"segments\":[", "address", "\"0x\"", "segments[0].address is no address"},
    {"segments\":[", "address", "\"0x10000000000000000\"",
     "segments[0].address is no address"},
    {"segments\":[", "address", "\"0x-1\"", "segments[0].address is no address"},
    {"segments\":[", "address", "12",
     "segments[0].address is an integer, not a string"},
    {"segments\":[", "state", "\"asleep\"",
     "segments[0].blocks[0].state is no known state of a block"},
    {"segments\":[", "tag", "\"nobody\"", "is no tag of this snapshot"},
    {"segments\":[", "blocks", "[3]",
     "segments[0].blocks[0] is an integer, not an object"},
    {"end", "bytes", "null", "end.bytes is null, not an integer"},
};

START_TEST(a_bad_value_is_named_with_its_place)
{
    kolk_complaint why;
    char *text KOLK_AUTO(text_free) =
        text_edit(paged, hostile[_i].anchor, hostile[_i].key, hostile[_i].value);
    must_refuse(text, strlen(text), &why);
    ck_assert_msg(strstr(why.reason, hostile[_i].reason) != NULL, "%s: %s",
                  hostile[_i].reason, why.reason);
    const char *const blamed = hostile[_i].value + (hostile[_i].value[0] == '[' &&
                                                    hostile[_i].value[1] == '3');
    ck_assert_msg(strncmp(text + why.offset, blamed, strlen(blamed)) == 0,
                  "%s: offset %zu is at %.20s", hostile[_i].reason, why.offset,
                  text + why.offset);
}
END_TEST

static const struct {
    const char *text, *reason;
} broken[] = {
    {"", "the file is empty"},
    {"null", "'[' or '{' expected"},
    {"[]", "the snapshot is not an object"},
    {"{}", "the snapshot has no \"format\""},
    {"{\"format\":\"kolk-snapshot\"}", "the snapshot has no \"version\""},
    {"{\"format\":\"kolk-snapshot\",\"version\":1}", "the snapshot has no \"library\""},
    {"{\"format\":\"kolk-snapshot\",\"format\":1}", "duplicate object key"},
    {"{\"a\":99999999999999999999}", "too big integer"},
    {"{\"a\":1e999}", "real number overflow"},
    {"{\"a\":\"\xff\"}", "unable to decode byte 0xff"},
    {"{\"a\":\"\\u0000\"}", "\\u0000"},
    {"{\"a\":1}}", "end of file expected"},
    {"{\"\\u0066ormat\":\"kolk-snapshot\",\"version\":9}", "version is 9"},
};

START_TEST(a_text_that_is_no_snapshot_is_refused)
{
    kolk_complaint why;
    must_refuse(broken[_i].text, strlen(broken[_i].text), &why);
    ck_assert_msg(strstr(why.reason, broken[_i].reason) != NULL, "%s: %s",
                  broken[_i].reason, why.reason);
}
END_TEST

START_TEST(extents_that_pass_the_last_address_are_refused)
{
    kolk_complaint why;
    char *text KOLK_AUTO(text_free) =
        text_edit(paged, "segments\":[", "size", "\"18446744073709551615\"");
    must_refuse(text, strlen(text), &why);
    ck_assert_str_eq(why.reason, "segments[0].blocks[0] ends beyond the last address");
    ck_assert_int_eq(text[why.offset], '{');
}
END_TEST

/* `size` bytes that repeat `piece`. */
static char *repeat(const char *piece, size_t size)
{
    char *const text = malloc(size + 1);
    const size_t step = strlen(piece);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < size; i++)
        text[i] = piece[i % step];
    text[size] = '\0';
    return text;
}

static const struct {
    const char *piece;
    const char *reason;
} floods[] = {
    {"[", "maximum parsing depth reached"},
    {"{\"a\":", "maximum parsing depth reached"},
    {"[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],",
     "maximum parsing depth"},
    {"9", "too big integer"},
    {"[\"", "expected"},
    {"\\", "expected"},
};

START_TEST(a_flood_is_refused)
{
    kolk_complaint why;
    char *text KOLK_AUTO(text_free) = repeat(floods[_i].piece, 3 << 20);
    must_refuse(text, 3 << 20, &why);
    ck_assert_msg(strstr(why.reason, floods[_i].reason) != NULL, "%s: %s",
                  floods[_i].piece, why.reason);
}
END_TEST

START_TEST(memory_is_bounded_by_the_size_of_the_text)
{
    kolk_complaint why;
    char *text KOLK_AUTO(text_free) = repeat("{},", 3 << 20);
    text[0] = '[';
    text[1] = '0';
    must_refuse(text, 3 << 20, &why);
    ck_assert_msg(strstr(why.reason, "times its size in memory") != NULL, "%s",
                  why.reason);
}
END_TEST

START_TEST(too_many_tags_are_refused)
{
    kolk_complaint why;
    char *tags KOLK_AUTO(text_free) = repeat("{},", 3 * 65);
    tags[3 * 65 - 1] = ']';
    tags[0] = '[';
    tags[1] = '0';
    char *text KOLK_AUTO(text_free) = text_edit(paged, "\"tags\"", "tags", tags);
    must_refuse(text, strlen(text), &why);
    ck_assert_msg(strstr(why.reason, "tags has 65 elements, more than 64") != NULL,
                  "%s", why.reason);
}
END_TEST

/* ---- identities ---------------------------------------------------------- */

static const struct {
    const char *anchor, *key, *value, *name;
} violations[] = {
    {"{", "version", "1 ", "the text is as long as it was written"},
    {"\"requested_bytes\"", "current", "99999999999", "requested <= allocated"},
    {"\"allocated_bytes\"", "current", "99999999999", "allocated <= active"},
    {"\"active_bytes\"", "current", "99999999999", "active <= reserved"},
    {"\"requested_bytes\"", "peak", "99999999999", "peaks: requested <= allocated"},
    {"\"allocated_bytes\"", "peak", "99999999999", "peaks: allocated <= active"},
    {"\"active_bytes\"", "peak", "99999999999", "peaks: active <= reserved"},
    {"configuration", "limit", "1", "reserved <= limit"},
    {"statistics", "retired_bytes", "99999999999", "retired <= active"},
    {"statistics", "unmapped_bytes", "99999999999", "unmapped <= reserved"},
    {"\"segment\"", "peak", "0", "peak >= current"},
    {"\"tags\"", "peak", "0", "peak >= current"},
    {"\"requested_bytes\"", "freed", "1", "total allocated - total freed = current"},
    {"statistics", "num_frees", "0", "allocs - frees = blocks"},
    {"statistics", "num_hits", "99999", "hits <= allocs"},
    {"statistics", "num_hits", "0", "allocs <= hits + misses"},
    {"\"calls\"", "failed", "9999", "failed driver calls <= driver calls"},
    {"\"segments\"", "address", "\"0xffff00000000\"",
     "segments are in order and apart"},
    {"\"segments\"", "total_size", "256", "blocks tile each segment exactly"},
    {"\"segments\"", "size", "0", "blocks tile each segment exactly"},
    {"\"segments\"", "requested_size", "99999999", "requests fit their blocks"},
    {"\"blocks\":[\n", "address", "\"0x7f0001\"",
     "blocks in use are aligned to 256 bytes"},
    {"\"segments\"", "mapped_size", "0",
     "blocks with memory = bytes mapped, by segment"},
    {"\"segments\"", "requested_size", "0", "requests of live blocks = requested"},
    {"\"allocated_bytes\"", "current", "1", "live blocks = allocated"},
    {"\"active_bytes\"", "current", "1", "live and pending blocks = active"},
    {"\"reserved_bytes\"", "current", "1", "bytes mapped + unmapped = reserved"},
    {"\"allocation\"", "current", "1", "number of live blocks = blocks"},
    {"\"segment\"", "current", "99", "number of segments = segments"},
    {"statistics", "address_space_bytes", "1",
     "addresses of segments <= address space"},
    {"\"tags\"", "current", "1", "requests of live blocks = requested, by tag"},
    {"\"tags\"", "current", "1", "tags = requested"},
    {"\"bins\"", "free", "9999", "free blocks of a bin <= its blocks"},
    {"\"bins\"", "free", "99999999999", "free bytes of bins <= free blocks"},
    {"\"bins\"", "hits", "99999999999", "hits of bins <= hits"},
    {"\"streams\"", "requested_bytes", "1", "streams: requested"},
    {"\"streams\"", "allocated_bytes", "1", "streams: allocated"},
    {"\"streams\"", "pending_bytes", "77", "streams: pending = active - allocated"},
    {"\"streams\"", "cached_bytes", "99999999999", "streams: cached <= free blocks"},
    {"\"streams\"", "allocs", "9999", "streams: allocs <= allocs"},
    {"\"streams\"", "frees", "9999", "streams: frees <= frees"},
    {"\"streams\"", "hits", "9999", "streams: hits <= hits"},
    {"\"streams\"", "misses", "9999", "streams: misses <= misses"},
    {"\"segments\"", "stream", "12345", "streams of blocks are known"},
};

enum { VIOLATIONS = sizeof violations / sizeof violations[0] };

static const kolk_identity *find_identity(const kolk_findings *findings,
                                          const char *name)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->identities[i].name, name) == 0)
            return &findings->identities[i];
    ck_abort_msg("no identity \"%s\"", name);
    return NULL;
}

START_TEST(a_violated_identity_is_named)
{
    kolk_findings findings;
    char *text KOLK_AUTO(text_free) = text_edit(
        plain, violations[_i].anchor, violations[_i].key, violations[_i].value);
    kolk_snapshot *snapshot KOLK_AUTO(kolk_snapshot_destroy) = must_parse(text);
    ck_assert(kolk_snapshot_check(snapshot, &findings));
    const kolk_identity *const identity = find_identity(&findings, violations[_i].name);
    ck_assert_msg(identity->violations > 0, "%s", violations[_i].name);
    ck_assert_uint_gt(strlen(identity->detail), 0);
    ck_assert_uint_gt(findings.violated, 0);
}
END_TEST

START_TEST(every_identity_has_been_violated_above)
{
    kolk_findings findings;
    kolk_snapshot *snapshot KOLK_AUTO(kolk_snapshot_destroy) = must_parse(plain);
    ck_assert(kolk_snapshot_check(snapshot, &findings));
    ck_assert_uint_lt(findings.count, KOLK_IDENTITIES_MOST);
    for (size_t i = 0; i < findings.count; i++) {
        bool is_tried = false;
        for (int k = 0; k < VIOLATIONS; k++)
            is_tried |= strcmp(violations[k].name, findings.identities[i].name) == 0;
        ck_assert_msg(is_tried, "%s", findings.identities[i].name);
    }
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("snapshot_read");
    TCase *const all = tcase_create("core");
    tcase_set_timeout(all, 60);
    /* Once for all: the tests only read it. */
    tcase_add_unchecked_fixture(all, open_scene, close_scene);
    tcase_add_loop_test(all, what_the_pool_wrote_is_read_and_holds_together, 0, 2);
    tcase_add_test(all, numbers_up_to_the_largest_are_read_exactly);
    tcase_add_test(all, keys_of_a_later_version_are_ignored);
    tcase_add_test(all, a_later_version_is_refused_with_both_numbers);
    tcase_add_test(all, a_text_cut_anywhere_is_refused);
    tcase_add_loop_test(all, a_bad_value_is_named_with_its_place, 0,
                        sizeof hostile / sizeof hostile[0]);
    tcase_add_loop_test(all, a_text_that_is_no_snapshot_is_refused, 0,
                        sizeof broken / sizeof broken[0]);
    tcase_add_test(all, extents_that_pass_the_last_address_are_refused);
    tcase_add_loop_test(all, a_flood_is_refused, 0, sizeof floods / sizeof floods[0]);
    tcase_add_test(all, memory_is_bounded_by_the_size_of_the_text);
    tcase_add_test(all, too_many_tags_are_refused);
    tcase_add_loop_test(all, a_violated_identity_is_named, 0, VIOLATIONS);
    tcase_add_test(all, every_identity_has_been_violated_above);
    suite_add_tcase(suite, all);
    return kolk_run_suite(suite);
}
