/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TOOL_FIELDS_H
#define KOLK_TOOL_FIELDS_H

/* Which key of the file is which number of the model, in tables, so that reading
 * a row and writing it again cannot disagree. */

#include "snapshot.h"

typedef struct kolk_field {
    const char *key;
    size_t offset; /* of a uint64_t */
} kolk_field;

#define FIELD(type, member, key)      \
    {                                 \
        (key), offsetof(type, member) \
    }
#define FIELD_COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

static const kolk_field kolk_stat_fields[] = {
    FIELD(kolk_stat, current, "current"),
    FIELD(kolk_stat, peak, "peak"),
    FIELD(kolk_stat, allocated, "allocated"),
    FIELD(kolk_stat, freed, "freed"),
};

static const kolk_field kolk_flow_fields[] = {/* offsets of a kolk_stat */
#define X(name, key, label) FIELD(kolk_snapshot, name, key),
                                              KOLK_FLOW_LIST(X)
#undef X
};

static const kolk_field kolk_number_fields[] = {
#define X(name, key) FIELD(kolk_snapshot, name, key),
    KOLK_NUMBER_LIST(X)
#undef X
};

static const kolk_field kolk_call_fields[] = {
    FIELD(kolk_snapshot_call, count, "count"),
    FIELD(kolk_snapshot_call, failed, "failed"),
    FIELD(kolk_snapshot_call, nanoseconds, "nanoseconds"),
};

static const kolk_field kolk_bin_fields[] = {
    FIELD(kolk_snapshot_bin, size, "size"),
    FIELD(kolk_snapshot_bin, blocks, "blocks"),
    FIELD(kolk_snapshot_bin, free, "free"),
    FIELD(kolk_snapshot_bin, hits, "hits"),
    FIELD(kolk_snapshot_bin, misses, "misses"),
};

static const kolk_field kolk_stream_fields[] = {
    FIELD(kolk_snapshot_stream, id, "stream"),
    FIELD(kolk_snapshot_stream, requested, "requested_bytes"),
    FIELD(kolk_snapshot_stream, allocated, "allocated_bytes"),
    FIELD(kolk_snapshot_stream, cached, "cached_bytes"),
    FIELD(kolk_snapshot_stream, pending, "pending_bytes"),
    FIELD(kolk_snapshot_stream, allocs, "allocs"),
    FIELD(kolk_snapshot_stream, frees, "frees"),
    FIELD(kolk_snapshot_stream, hits, "hits"),
    FIELD(kolk_snapshot_stream, misses, "misses"),
};

static inline uint64_t kolk_field_get(const void *row, const kolk_field *field)
{
    return *(const uint64_t *)((const char *)row + field->offset);
}

static inline uint64_t *kolk_field_of(void *row, const kolk_field *field)
{
    return (uint64_t *)((char *)row + field->offset);
}

#endif
