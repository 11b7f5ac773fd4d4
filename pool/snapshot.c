/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

/* A pool's image as a JSON text, kolk-snapshot(5).
 *
 * One row a line, so that a file of a million blocks can be read, compared and
 * cut with the tools for lines. Names are PyTorch's wherever it has one. The
 * text is written beside its path and renamed when it is whole: nobody ever
 * finds half a snapshot there. Its last member says how many bytes come before
 * it, so that a text which lost lines on its way is noticed. */

#include "snapshot.h"

#include "json.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <runtime/backend.h>
#include <runtime/fail.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const state_names[] = {
#define X(name, text) [KOLK_BLOCK_##name] = text,
    KOLK_BLOCK_STATE_LIST(X)
#undef X
};

/* ---- the text ------------------------------------------------------------ */

static void write_stat(kolk_json *json, const char *key, const kolk_stat *stat)
{
    kolk_json_open(json, key, '{');
    kolk_json_number(json, "current", stat->current);
    kolk_json_number(json, "peak", stat->peak);
    kolk_json_number(json, "allocated", stat->allocated);
    kolk_json_number(json, "freed", stat->freed);
    kolk_json_close(json, '}');
}

static void write_device(kolk_json *json, const kolk_pool_image *image)
{
    kolk_json_open(json, "device", '{');
    kolk_json_string(json, "kind", kolk_device_kind_name(image->device.kind));
    kolk_json_number(json, "ordinal", (uint64_t)image->device.ordinal);
    kolk_json_string(json, "name", image->info.name);
    kolk_json_number(json, "total_size", image->info.total);
    kolk_json_number(json, "page_size", image->info.page_size);
    kolk_json_bool(json, "is_integrated", image->info.integrated);
    kolk_json_close(json, '}');
}

static void write_configuration(kolk_json *json, const kolk_pool_config *config)
{
    const bool prefers_memory = config->policy == KOLK_PREFER_MEMORY;
    kolk_json_open(json, "configuration", '{');
    kolk_json_string(json, "name", config->name);
    kolk_json_number(json, "limit", config->limit);
    kolk_json_fraction(json, "limit_fraction", config->limit_fraction);
    kolk_json_string(json, "policy", prefers_memory ? "memory" : "speed");
    kolk_json_number(json, "page_size", config->page_size);
    kolk_json_number(json, "address_space", config->address_space);
    kolk_json_bool(json, "no_pages", config->no_pages);
    kolk_json_bool(json, "capture_safe", config->capture_safe);
    kolk_json_bool(json, "on_oom", config->on_oom != NULL);
    kolk_json_close(json, '}');
}

static void write_statistics(kolk_json *json, const kolk_pool_stats *stats)
{
    const struct {
        const char *key;
        const kolk_stat *stat;
    } flows[] = {
        {"requested_bytes", &stats->requested}, {"allocated_bytes", &stats->allocated},
        {"active_bytes", &stats->active},       {"reserved_bytes", &stats->reserved},
        {"allocation", &stats->blocks},         {"segment", &stats->segments},
    };
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"num_allocs", stats->allocs},
        {"num_frees", stats->frees},
        {"num_hits", stats->hits},
        {"num_misses", stats->misses},
        {"num_alloc_retries", stats->retries},
        {"num_ooms", stats->ooms},
        {"num_misuses", stats->misuses},
        {"num_cross_stream_waits", stats->cross_stream_waits},
        {"retired_bytes", stats->retired},
        {"largest_free_bytes", stats->largest_free},
        {"unmapped_bytes", stats->unmapped},
        {"address_space_bytes", stats->address_space},
        {"bookkeeping_bytes", stats->bookkeeping},
    };
    kolk_json_open(json, "statistics", '{');
    for (size_t i = 0; i < sizeof flows / sizeof flows[0]; i++) {
        kolk_json_line(json);
        write_stat(json, flows[i].key, flows[i].stat);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        kolk_json_line(json);
        kolk_json_number(json, numbers[i].key, numbers[i].value);
    }
    kolk_json_close(json, '}');
}

static void write_calls(kolk_json *json, const kolk_pool_stats *stats)
{
    kolk_json_open(json, "calls", '[');
    for (int i = 0; i < KOLK_CALL_COUNT; i++) {
        kolk_json_line(json);
        kolk_json_open(json, NULL, '{');
        kolk_json_string(json, "kind", kolk_call_name((kolk_call)i));
        kolk_json_number(json, "count", stats->calls[i].count);
        kolk_json_number(json, "failed", stats->calls[i].failed);
        kolk_json_number(json, "nanoseconds", stats->calls[i].nanoseconds);
        kolk_json_close(json, '}');
    }
    kolk_json_close(json, ']');
}

static void write_tags(kolk_json *json, const kolk_pool_stats *stats)
{
    kolk_json_open(json, "tags", '[');
    for (int i = 0; i < KOLK_TAG_COUNT; i++) {
        kolk_json_line(json);
        kolk_json_open(json, NULL, '{');
        kolk_json_string(json, "tag", kolk_tag_name((kolk_tag)i));
        write_stat(json, "requested_bytes", &stats->tags[i]);
        kolk_json_close(json, '}');
    }
    kolk_json_close(json, ']');
}

static void write_bins(kolk_json *json, const kolk_pool_image *image)
{
    kolk_json_open(json, "bins", '[');
    for (size_t i = 0; i < image->bin_count; i++) {
        const kolk_bin_row *const bin = &image->bins[i];
        kolk_json_line(json);
        kolk_json_open(json, NULL, '{');
        kolk_json_number(json, "size", bin->size);
        kolk_json_number(json, "blocks", bin->blocks);
        kolk_json_number(json, "free", bin->free);
        kolk_json_number(json, "hits", bin->hits);
        kolk_json_number(json, "misses", bin->misses);
        kolk_json_close(json, '}');
    }
    kolk_json_close(json, ']');
}

static void write_streams(kolk_json *json, const kolk_pool_image *image)
{
    kolk_json_open(json, "streams", '[');
    for (size_t i = 0; i < image->stream_count; i++) {
        const kolk_stream_row *const stream = &image->streams[i];
        kolk_json_line(json);
        kolk_json_open(json, NULL, '{');
        kolk_json_number(json, "stream", stream->id);
        kolk_json_number(json, "requested_bytes", stream->requested);
        kolk_json_number(json, "allocated_bytes", stream->allocated);
        kolk_json_number(json, "cached_bytes", stream->cached);
        kolk_json_number(json, "pending_bytes", stream->pending);
        kolk_json_number(json, "allocs", stream->allocs);
        kolk_json_number(json, "frees", stream->frees);
        kolk_json_number(json, "hits", stream->hits);
        kolk_json_number(json, "misses", stream->misses);
        kolk_json_bool(json, "is_closed", stream->closed);
        kolk_json_close(json, '}');
    }
    kolk_json_close(json, ']');
}

static void write_block(kolk_json *json, const kolk_block_row *block)
{
    const bool is_active =
        block->state == KOLK_BLOCK_LIVE || block->state == KOLK_BLOCK_PENDING;
    kolk_json_open(json, NULL, '{');
    kolk_json_address(json, "address", block->address);
    kolk_json_number(json, "size", block->size);
    kolk_json_string(json, "state", state_names[block->state]);
    if (block->stream != 0)
        kolk_json_number(json, "stream", block->stream);
    if (is_active) {
        kolk_json_number(json, "requested_size", block->requested);
        kolk_json_string(json, "tag", kolk_tag_name(block->tag));
    }
    kolk_json_close(json, '}');
}

static void write_segment(kolk_json *json, const kolk_pool_image *image,
                          const kolk_segment_row *segment)
{
    kolk_json_open(json, NULL, '{');
    kolk_json_address(json, "address", segment->address);
    kolk_json_number(json, "total_size", segment->size);
    kolk_json_number(json, "mapped_size", segment->mapped);
    kolk_json_bool(json, "is_expandable", segment->paged);
    kolk_json_open(json, "blocks", '[');
    for (size_t i = 0; i < segment->block_count; i++) {
        kolk_json_line(json);
        write_block(json, &image->blocks[segment->first_block + i]);
    }
    kolk_json_close(json, ']');
    kolk_json_close(json, '}');
}

static void write_segments(kolk_json *json, const kolk_pool_image *image)
{
    kolk_json_open(json, "segments", '[');
    for (size_t i = 0; i < image->segment_count; i++) {
        kolk_json_line(json);
        write_segment(json, image, &image->segments[i]);
    }
    kolk_json_close(json, ']');
}

static void write_end(kolk_json *json)
{
    kolk_json_open(json, "end", '{');
    kolk_json_number(json, "bytes", kolk_json_size(json) - 1);
    kolk_json_close(json, '}');
}

static void write_head(kolk_json *json, const kolk_pool_image *image)
{
    kolk_json_string(json, "format", "kolk-snapshot");
    kolk_json_number(json, "version", KOLK_SNAPSHOT_VERSION);
    kolk_json_string(json, "library", KOLK_VERSION);
    kolk_json_number(json, "time_us", (uint64_t)image->time_us);
    kolk_json_number(json, "process", (uint64_t)image->process);
}

static void write_text(kolk_json *json, const kolk_pool_image *image)
{
    kolk_json_open(json, NULL, '{');
    write_head(json, image);
    kolk_json_line(json);
    write_device(json, image);
    kolk_json_line(json);
    write_configuration(json, &image->config);
    kolk_json_line(json);
    write_statistics(json, &image->stats);
    kolk_json_line(json);
    write_calls(json, &image->stats);
    kolk_json_line(json);
    write_tags(json, &image->stats);
    kolk_json_line(json);
    write_bins(json, image);
    kolk_json_line(json);
    write_streams(json, image);
    kolk_json_line(json);
    write_segments(json, image);
    kolk_json_line(json);
    write_end(json);
    kolk_json_close(json, '}');
    kolk_json_line(json);
}

/* ---- the file ------------------------------------------------------------ */

enum { ATTEMPTS = 100 };

static kolk_status refuse(const char *path, const char *what, int code)
{
    char reason[128] = "unknown error";
    if (strerror_r(code, reason, sizeof reason) != 0)
        (void)snprintf(reason, sizeof reason, "error %d", code);
    return kolk_fail_at("kolk_pool_snapshot_write", KOLK_IO, code, "cannot %s %s: %s",
                        what, path, reason);
}

/* Writes all and closes `file`; 0, or the errno of what failed first. */
static int fill(int file, const kolk_pool_image *image)
{
    kolk_json json;
    kolk_json_init(&json, file);
    write_text(&json, image);
    const int failed = kolk_json_finish(&json);
    const int closed = close(file) == 0 ? 0 : errno;
    return failed != 0 ? failed : closed;
}

/* A terminal, a pipe or a link is written to as it is: renaming over it would
 * put a file in its place. */
static bool is_written_in_place(const char *path)
{
    struct stat there;
    return lstat(path, &there) == 0 && !S_ISREG(there.st_mode);
}

static kolk_status write_in_place(const kolk_pool_image *image, const char *path)
{
    const int file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
    if (file < 0)
        return refuse(path, "open", errno);
    const int failed = fill(file, image);
    return failed == 0 ? KOLK_OK : refuse(path, "write", failed);
}

/* Makes a file that was not there, named after `path`; its descriptor, or -1. */
static int create_beside(const char *path, char *name, size_t size)
{
    static atomic_uint counter;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        const unsigned number =
            atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
        const int length =
            snprintf(name, size, "%s.%ld-%u.part", path, (long)getpid(), number);
        if (length < 0 || (size_t)length >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        const int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

static kolk_status write_beside(const kolk_pool_image *image, const char *path)
{
    char name[PATH_MAX];
    const int file = create_beside(path, name, sizeof name);
    if (file < 0)
        return refuse(path, "create", errno);
    int failed = fill(file, image);
    if (failed == 0 && rename(name, path) != 0)
        failed = errno;
    if (failed == 0)
        return KOLK_OK;
    (void)unlink(name);
    return refuse(path, "write", failed);
}

kolk_status kolk_pool_image_write(const kolk_pool_image *image, const char *path)
{
    return is_written_in_place(path) ? write_in_place(image, path)
                                     : write_beside(image, path);
}

kolk_status kolk_pool_snapshot_write(kolk_pool *pool, const char *path)
{
    kolk_pool_image *image KOLK_AUTO(kolk_pool_image_destroy) = NULL;
    KOLK_TRY(kolk_pool_image_take(pool, &image));
    return kolk_pool_image_write(image, path);
}
