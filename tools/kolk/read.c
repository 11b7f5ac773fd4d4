/* SPDX-License-Identifier: MIT */

/* From a text to the model. jansson reads the JSON: it refuses duplicate keys,
 * integers beyond 64 bits, bad UTF-8 and deep nesting. Everything known is asked
 * for by name; what is not known is not looked at, so that later versions may add
 * to the format.
 *
 * Rows are allocated for as many elements as the text holds, so memory grows
 * with the text, whatever numbers it claims. */

#include "budget.h"
#include "fields.h"
#include "value.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What jansson may take: a line of a block takes twelve times its length. */
enum { BUDGET_FACTOR = 32, BUDGET_LEAST = 1 << 20 };

static const char *const state_names[] = {
#define X(name, text) text,
    KOLK_STATE_LIST(X)
#undef X
};

const char *kolk_state_name(kolk_state state)
{
    return state_names[state];
}

static bool read_fields(kolk_reader *reader, const kolk_value *object,
                        const kolk_field *fields, size_t count, void *row)
{
    bool is_fine = true;
    for (size_t i = 0; i < count && is_fine; i++)
        is_fine = kolk_value_number(reader, object, fields[i].key,
                                    kolk_field_of(row, &fields[i]));
    return is_fine;
}

static bool read_stat(kolk_reader *reader, const kolk_value *object, const char *key,
                      kolk_stat *out)
{
    kolk_value stat;
    return kolk_value_member(reader, object, key, JSON_OBJECT, &stat) &&
           read_fields(reader, &stat, kolk_stat_fields, FIELD_COUNT(kolk_stat_fields),
                       out);
}

/* ---- rows ---------------------------------------------------------------- */

typedef bool (*read_row)(kolk_reader *reader, const kolk_value *object,
                         const kolk_snapshot *snapshot, void *row);

/* Room for the rows of an array, as many as it has. */
static bool make_rows(kolk_reader *reader, const kolk_value *array, size_t row_size,
                      size_t most, char **out_rows, size_t *out_count)
{
    const size_t count = json_array_size(array->json);
    if (count > most)
        return kolk_value_refuse(reader, array, "has %zu elements, more than %zu",
                                 count, most);
    *out_rows = calloc(count + 1, row_size);
    if (*out_rows == NULL)
        return kolk_value_refuse(reader, array, "needs more memory than there is");
    *out_count = count;
    return true;
}

/* `out_rows` is the address of a pointer to rows of any type; what it then points
 * to is the caller's, also when a row was refused. */
static bool read_rows(kolk_reader *reader, const kolk_value *object, const char *key,
                      const kolk_snapshot *snapshot, read_row read, size_t row_size,
                      size_t most, void *out_rows, size_t *out_count)
{
    kolk_value array, row;
    char *rows = NULL;
    bool is_fine = kolk_value_member(reader, object, key, JSON_ARRAY, &array) &&
                   make_rows(reader, &array, row_size, most, &rows, out_count);
    memcpy(out_rows, &rows, sizeof rows);
    for (size_t i = 0; is_fine && i < *out_count; i++)
        is_fine = kolk_value_row(reader, &array, i, &row) &&
                  read(reader, &row, snapshot, rows + i * row_size);
    return is_fine;
}

#define READ_ROWS(reader, object, key, snapshot, read, most, rows, count)             \
    read_rows((reader), (object), (key), (snapshot), (read), sizeof **(rows), (most), \
              (rows), (count))

static bool read_call(kolk_reader *reader, const kolk_value *object,
                      const kolk_snapshot *snapshot, void *row)
{
    kolk_snapshot_call *const call = row;
    (void)snapshot;
    return kolk_value_text(reader, object, "kind", call->kind) &&
           read_fields(reader, object, kolk_call_fields, FIELD_COUNT(kolk_call_fields),
                       call);
}

static bool read_tag(kolk_reader *reader, const kolk_value *object,
                     const kolk_snapshot *snapshot, void *row)
{
    kolk_snapshot_tag *const tag = row;
    (void)snapshot;
    return kolk_value_text(reader, object, "tag", tag->name) &&
           read_stat(reader, object, "requested_bytes", &tag->requested);
}

static bool read_bin(kolk_reader *reader, const kolk_value *object,
                     const kolk_snapshot *snapshot, void *row)
{
    (void)snapshot;
    return read_fields(reader, object, kolk_bin_fields, FIELD_COUNT(kolk_bin_fields),
                       row);
}

static bool read_stream(kolk_reader *reader, const kolk_value *object,
                        const kolk_snapshot *snapshot, void *row)
{
    kolk_snapshot_stream *const stream = row;
    (void)snapshot;
    return read_fields(reader, object, kolk_stream_fields,
                       FIELD_COUNT(kolk_stream_fields), stream) &&
           kolk_value_bool(reader, object, "is_closed", &stream->is_closed);
}

/* ---- segments and blocks ------------------------------------------------- */

static bool read_state(kolk_reader *reader, const kolk_value *object, kolk_state *out)
{
    kolk_value state;
    if (!kolk_value_member(reader, object, "state", JSON_STRING, &state))
        return false;
    for (int i = 0; i < KOLK_STATES; i++)
        if (strcmp(json_string_value(state.json), state_names[i]) == 0) {
            *out = (kolk_state)i;
            return true;
        }
    return kolk_value_refuse(reader, &state, "is no known state of a block");
}

static bool read_tag_of(kolk_reader *reader, const kolk_value *object,
                        const kolk_snapshot *snapshot, unsigned *out)
{
    kolk_value tag;
    if (!kolk_value_member(reader, object, "tag", JSON_STRING, &tag))
        return false;
    for (unsigned i = 0; i < snapshot->tag_count; i++)
        if (strcmp(json_string_value(tag.json), snapshot->tags[i].name) == 0) {
            *out = i;
            return true;
        }
    return kolk_value_refuse(reader, &tag, "is no tag of this snapshot");
}

/* Nothing here ends beyond the last address. */
static bool read_extent(kolk_reader *reader, const kolk_value *object,
                        const char *size_key, uint64_t *address, uint64_t *size)
{
    return kolk_value_address(reader, object, "address", address) &&
           kolk_value_number(reader, object, size_key, size) &&
           (*size <= UINT64_MAX - *address ||
            kolk_value_refuse(reader, object, "ends beyond the last address"));
}

static bool read_block(kolk_reader *reader, const kolk_value *object,
                       const kolk_snapshot *snapshot, void *row)
{
    kolk_snapshot_block *const block = row;
    if (!read_extent(reader, object, "size", &block->address, &block->size) ||
        !read_state(reader, object, &block->state))
        return false;
    if (json_object_get(object->json, "stream") != NULL &&
        !kolk_value_number(reader, object, "stream", &block->stream))
        return false;
    if (block->state == KOLK_STATE_FREE || block->state == KOLK_STATE_UNMAPPED)
        return true;
    return kolk_value_number(reader, object, "requested_size", &block->requested) &&
           read_tag_of(reader, object, snapshot, &block->tag);
}

static bool read_segment(kolk_reader *reader, const kolk_value *object,
                         const kolk_snapshot *snapshot, void *row)
{
    kolk_snapshot_segment *const segment = row;
    return read_extent(reader, object, "total_size", &segment->address,
                       &segment->size) &&
           kolk_value_number(reader, object, "mapped_size", &segment->mapped) &&
           kolk_value_bool(reader, object, "is_expandable", &segment->is_expandable) &&
           READ_ROWS(reader, object, "blocks", snapshot, read_block, SIZE_MAX,
                     &segment->blocks, &segment->block_count);
}

/* ---- the whole ----------------------------------------------------------- */

static bool read_device(kolk_reader *reader, const kolk_value *root, kolk_snapshot *s)
{
    kolk_value device;
    return kolk_value_member(reader, root, "device", JSON_OBJECT, &device) &&
           kolk_value_text(reader, &device, "kind", s->device_kind) &&
           kolk_value_number(reader, &device, "ordinal", &s->device_ordinal) &&
           kolk_value_text(reader, &device, "name", s->device_name) &&
           kolk_value_number(reader, &device, "total_size", &s->device_total) &&
           kolk_value_number(reader, &device, "page_size", &s->device_page_size) &&
           kolk_value_bool(reader, &device, "is_integrated", &s->device_is_integrated);
}

static bool read_configuration(kolk_reader *reader, const kolk_value *root,
                               kolk_snapshot *s)
{
    kolk_value config;
    return kolk_value_member(reader, root, "configuration", JSON_OBJECT, &config) &&
           kolk_value_text(reader, &config, "name", s->name) &&
           kolk_value_number(reader, &config, "limit", &s->limit) &&
           kolk_value_fraction(reader, &config, "limit_fraction", &s->limit_fraction) &&
           kolk_value_text(reader, &config, "policy", s->policy) &&
           kolk_value_number(reader, &config, "page_size", &s->page_size) &&
           kolk_value_number(reader, &config, "address_space",
                             &s->address_space_size) &&
           kolk_value_bool(reader, &config, "no_pages", &s->no_pages) &&
           kolk_value_bool(reader, &config, "capture_safe", &s->capture_safe) &&
           kolk_value_bool(reader, &config, "on_oom", &s->on_oom);
}

static bool read_statistics(kolk_reader *reader, const kolk_value *root,
                            kolk_snapshot *s)
{
    kolk_value stats;
    bool is_fine = kolk_value_member(reader, root, "statistics", JSON_OBJECT, &stats);
    for (size_t i = 0; is_fine && i < FIELD_COUNT(kolk_flow_fields); i++)
        is_fine =
            read_stat(reader, &stats, kolk_flow_fields[i].key,
                      (kolk_stat *)(void *)((char *)s + kolk_flow_fields[i].offset));
    return is_fine && read_fields(reader, &stats, kolk_number_fields,
                                  FIELD_COUNT(kolk_number_fields), s);
}

static bool read_tables(kolk_reader *reader, const kolk_value *root, kolk_snapshot *s)
{
    return READ_ROWS(reader, root, "calls", s, read_call, KOLK_SNAPSHOT_CALLS,
                     &s->calls, &s->call_count) &&
           READ_ROWS(reader, root, "tags", s, read_tag, KOLK_SNAPSHOT_TAGS, &s->tags,
                     &s->tag_count) &&
           READ_ROWS(reader, root, "bins", s, read_bin, SIZE_MAX, &s->bins,
                     &s->bin_count) &&
           READ_ROWS(reader, root, "streams", s, read_stream, SIZE_MAX, &s->streams,
                     &s->stream_count) &&
           READ_ROWS(reader, root, "segments", s, read_segment, SIZE_MAX,
                     &s->segment_rows, &s->segment_count);
}

/* Says first of all whether this is for us to read. */
static bool read_format(kolk_reader *reader, const kolk_value *root, kolk_snapshot *s)
{
    kolk_value format, version;
    if (!kolk_value_member(reader, root, "format", JSON_STRING, &format))
        return false;
    if (strcmp(json_string_value(format.json), "kolk-snapshot") != 0)
        return kolk_value_refuse(reader, &format, "is not \"kolk-snapshot\"");
    if (!kolk_value_number(reader, root, "version", &s->version))
        return false;
    version = (kolk_value){.up = root, .step = {.key = "version"}};
    if (s->version > KOLK_SNAPSHOT_READS)
        return kolk_value_refuse(reader, &version,
                                 "is %" PRIu64
                                 ": this kolk reads up to %d, a newer one is needed",
                                 s->version, KOLK_SNAPSHOT_READS);
    return s->version > 0 || kolk_value_refuse(reader, &version, "is 0");
}

static bool read_end(kolk_reader *reader, const kolk_value *root, kolk_snapshot *s)
{
    const kolk_step step = {.key = "end"};
    kolk_value end;
    s->bytes_read = kolk_locate(reader->text, reader->size, &step, 1);
    return kolk_value_member(reader, root, "end", JSON_OBJECT, &end) &&
           kolk_value_number(reader, &end, "bytes", &s->bytes_written);
}

static bool read_snapshot(kolk_reader *reader, json_t *json, kolk_snapshot *s)
{
    const kolk_value root = {.json = json};
    if (!json_is_object(json))
        return kolk_value_refuse(reader, &root, "is not an object");
    return read_format(reader, &root, s) &&
           kolk_value_text(reader, &root, "library", s->library) &&
           kolk_value_number(reader, &root, "time_us", &s->time_us) &&
           kolk_value_number(reader, &root, "process", &s->process) &&
           read_device(reader, &root, s) && read_configuration(reader, &root, s) &&
           read_statistics(reader, &root, s) && read_tables(reader, &root, s) &&
           read_end(reader, &root, s);
}

static json_t *parse(const char *text, size_t size, kolk_complaint *why)
{
    json_error_t error;
    const size_t least = BUDGET_LEAST;
    kolk_budget_set(size > SIZE_MAX / BUDGET_FACTOR - least
                        ? SIZE_MAX
                        : size * BUDGET_FACTOR + least);
    json_t *const json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (json != NULL)
        return json;
    why->offset = error.position > 0 ? (size_t)error.position : 0;
    if (size == 0)
        (void)snprintf(why->reason, sizeof why->reason, "the file is empty");
    else if (kolk_budget_is_spent())
        (void)snprintf(why->reason, sizeof why->reason,
                       "reading it takes more than %d times its size in memory",
                       BUDGET_FACTOR);
    else if (json_error_code(&error) == json_error_premature_end_of_input)
        (void)snprintf(why->reason, sizeof why->reason,
                       "the file ends before the snapshot does: it was cut short");
    else
        (void)snprintf(
            why->reason, sizeof why->reason, "line %d: %s%s", error.line, error.text,
            why->offset == size ? ", where the file ends: was it cut short?" : "");
    return NULL;
}

kolk_snapshot *kolk_snapshot_parse(const char *text, size_t size, kolk_complaint *why)
{
    kolk_reader reader = {text, size, why};
    json_t *const json = parse(text, size, why);
    if (json == NULL)
        return NULL;
    kolk_snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (snapshot == NULL) {
        *why = (kolk_complaint){.reason = "no memory is left to read it"};
    } else if (!read_snapshot(&reader, json, snapshot)) {
        kolk_snapshot_destroy(&snapshot);
    }
    json_decref(json);
    return snapshot;
}

void kolk_snapshot_destroy(kolk_snapshot **snapshot)
{
    kolk_snapshot *const s = *snapshot;
    *snapshot = NULL;
    if (s == NULL)
        return;
    for (size_t i = 0; s->segment_rows != NULL && i < s->segment_count; i++)
        free(s->segment_rows[i].blocks);
    free(s->segment_rows);
    free(s->streams);
    free(s->bins);
    free(s->tags);
    free(s->calls);
    free(s);
}
