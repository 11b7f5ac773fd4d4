/* SPDX-License-Identifier: MIT */

/* What the human dump says, as one document: the snapshot's tables and what
 * follows from them, without the single blocks. Numbers beyond INT64_MAX are
 * strings of digits, as in the snapshot. */

#include "check.h"
#include "dump.h"
#include "make.h"

static json_t *make_stat(kolk_maker *m, const kolk_stat *stat)
{
    json_t *const object = json_object();
    kolk_make_fields(m, object, stat, kolk_stat_fields, FIELD_COUNT(kolk_stat_fields));
    return object;
}

static json_t *make_device(kolk_maker *m, const kolk_snapshot *s)
{
    json_t *const device = json_object();
    kolk_make_set(m, device, "kind", json_string(s->device_kind));
    kolk_make_set(m, device, "ordinal", kolk_make_number(s->device_ordinal));
    kolk_make_set(m, device, "name", json_string(s->device_name));
    kolk_make_set(m, device, "total_size", kolk_make_number(s->device_total));
    return device;
}

static json_t *make_statistics(kolk_maker *m, const kolk_snapshot *s)
{
    json_t *const stats = json_object();
#define X(name, key, label) kolk_make_set(m, stats, key, make_stat(m, &s->name));
    KOLK_FLOW_LIST(X)
#undef X
    kolk_make_fields(m, stats, s, kolk_number_fields, FIELD_COUNT(kolk_number_fields));
    kolk_make_set(m, stats, "returnable_bytes",
                  kolk_make_number(kolk_snapshot_returnable(s)));
    return stats;
}

static json_t *make_calls(kolk_maker *m, const kolk_snapshot *s)
{
    json_t *const rows = json_array();
    for (size_t i = 0; i < s->call_count; i++) {
        json_t *const row = json_object();
        kolk_make_set(m, row, "kind", json_string(s->calls[i].kind));
        kolk_make_fields(m, row, &s->calls[i], kolk_call_fields,
                         FIELD_COUNT(kolk_call_fields));
        kolk_make_append(m, rows, row);
    }
    return rows;
}

static json_t *make_tags(kolk_maker *m, const kolk_snapshot *s)
{
    json_t *const rows = json_array();
    for (size_t i = 0; i < s->tag_count; i++) {
        json_t *const row = json_object();
        kolk_make_set(m, row, "tag", json_string(s->tags[i].name));
        kolk_make_set(m, row, "requested_bytes", make_stat(m, &s->tags[i].requested));
        kolk_make_append(m, rows, row);
    }
    return rows;
}

static json_t *make_bins(kolk_maker *m, const kolk_snapshot *s)
{
    json_t *const rows = json_array();
    for (size_t i = 0; i < s->bin_count; i++) {
        json_t *const row = json_object();
        kolk_make_fields(m, row, &s->bins[i], kolk_bin_fields,
                         FIELD_COUNT(kolk_bin_fields));
        kolk_make_append(m, rows, row);
    }
    return rows;
}

static json_t *make_streams(kolk_maker *m, const kolk_snapshot *s)
{
    json_t *const rows = json_array();
    for (size_t i = 0; i < s->stream_count; i++) {
        json_t *const row = json_object();
        kolk_make_fields(m, row, &s->streams[i], kolk_stream_fields,
                         FIELD_COUNT(kolk_stream_fields));
        kolk_make_set(m, row, "is_closed", json_boolean(s->streams[i].is_closed));
        kolk_make_append(m, rows, row);
    }
    return rows;
}

/* The blocks of a segment by state: how many, and their bytes. */
static json_t *make_states(kolk_maker *m, const kolk_snapshot_segment *segment)
{
    uint64_t counts[KOLK_STATES] = {0}, bytes[KOLK_STATES] = {0};
    json_t *const states = json_object();
    for (size_t i = 0; i < segment->block_count; i++) {
        counts[segment->blocks[i].state]++;
        bytes[segment->blocks[i].state] += segment->blocks[i].size;
    }
    for (int i = 0; i < KOLK_STATES; i++) {
        json_t *const state = json_object();
        kolk_make_set(m, state, "blocks", kolk_make_number(counts[i]));
        kolk_make_set(m, state, "bytes", kolk_make_number(bytes[i]));
        kolk_make_set(m, states, kolk_state_name((kolk_state)i), state);
    }
    return states;
}

static json_t *make_segments(kolk_maker *m, const kolk_snapshot *s)
{
    json_t *const rows = json_array();
    for (size_t i = 0; i < s->segment_count; i++) {
        const kolk_snapshot_segment *const segment = &s->segment_rows[i];
        json_t *const row = json_object();
        kolk_make_set(m, row, "address", kolk_make_address(segment->address));
        kolk_make_set(m, row, "total_size", kolk_make_number(segment->size));
        kolk_make_set(m, row, "mapped_size", kolk_make_number(segment->mapped));
        kolk_make_set(m, row, "is_expandable", json_boolean(segment->is_expandable));
        kolk_make_set(m, row, "states", make_states(m, segment));
        kolk_make_append(m, rows, row);
    }
    return rows;
}

static json_t *make_document(kolk_maker *m, const kolk_snapshot *s)
{
    kolk_findings findings;
    m->has_failed |= !kolk_snapshot_check(s, &findings);
    json_t *const root = json_object();
    kolk_make_set(m, root, "schema", json_string("kolk-dump/1"));
    kolk_make_set(m, root, "library", json_string(s->library));
    kolk_make_set(m, root, "time_us", kolk_make_number(s->time_us));
    kolk_make_set(m, root, "process", kolk_make_number(s->process));
    kolk_make_set(m, root, "pool", json_string(s->name));
    kolk_make_set(m, root, "limit", kolk_make_number(s->limit));
    kolk_make_set(m, root, "device", make_device(m, s));
    kolk_make_set(m, root, "statistics", make_statistics(m, s));
    kolk_make_set(m, root, "calls", make_calls(m, s));
    kolk_make_set(m, root, "tags", make_tags(m, s));
    kolk_make_set(m, root, "streams", make_streams(m, s));
    kolk_make_set(m, root, "bins", make_bins(m, s));
    kolk_make_set(m, root, "segments", make_segments(m, s));
    kolk_make_set(m, root, "identities", kolk_make_number(findings.count));
    kolk_make_set(m, root, "identities_violated", kolk_make_number(findings.violated));
    return root;
}

bool kolk_dump_json(FILE *file, const kolk_snapshot *snapshot)
{
    kolk_maker m = kolk_make_begin();
    json_t *const root = make_document(&m, snapshot);
    return kolk_make_end(&m, root, file);
}
