/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* A whole life on every device, in which each call is refused once. */

#include "fault.h"
#include "rows.h"
#include <runtime/stream.h>
#include <string.h>

enum { SIZE = 10000 };

typedef struct life {
    kolk_device device;
    kolk_stream *stream;
    kolk_event *event;
    void *memory;
    void *range;
    bool has_page;
    bool is_mapped;
    uint64_t page;
    size_t page_size;
} life;

static kolk_status be_born(life *self)
{
    kolk_device_info info;
    size_t available;
    size_t total;
    KOLK_TRY(kolk_device_describe(self->device, &info));
    KOLK_TRY(kolk_device_memory(self->device, &available, &total));
    self->page_size = info.page_size;
    KOLK_TRY(kolk_stream_create(self->device, &self->stream));
    KOLK_TRY(kolk_event_create(self->device, &self->event));
    KOLK_TRY(kolk_memory_alloc(self->device, SIZE, &self->memory));
    KOLK_TRY(kolk_range_reserve(self->device, info.page_size, &self->range));
    KOLK_TRY(kolk_page_create(self->device, info.page_size, &self->page));
    self->has_page = true;
    KOLK_TRY(kolk_page_map(self->device, self->range, info.page_size, self->page));
    self->is_mapped = true;
    return KOLK_OK;
}

static kolk_status work(life *self)
{
    bool done;
    uint64_t capture;
    KOLK_TRY(kolk_fill_queue(self->stream, self->range, 7, SIZE));
    KOLK_TRY(kolk_event_record(self->event, self->stream));
    KOLK_TRY(kolk_stream_wait(self->stream, self->event));
    KOLK_TRY(kolk_copy_queue(self->stream, self->memory, self->range, SIZE));
    KOLK_TRY(kolk_event_synchronize(self->event));
    KOLK_TRY(kolk_event_query(self->event, &done));
    KOLK_TRY(kolk_stream_capture_id(self->stream, &capture));
    KOLK_TRY(kolk_stream_synchronize(self->stream));
    return kolk_device_synchronize(self->device);
}

/* Gives back what there is; to be called again when something was refused. */
static kolk_status die(life *self)
{
    if (self->is_mapped)
        KOLK_TRY(kolk_page_unmap(self->device, self->range, self->page_size));
    self->is_mapped = false;
    if (self->has_page)
        KOLK_TRY(kolk_page_release(self->device, self->page, self->page_size));
    self->has_page = false;
    if (self->range != NULL)
        KOLK_TRY(kolk_range_free(self->device, self->range, self->page_size));
    self->range = NULL;
    if (self->memory != NULL)
        KOLK_TRY(kolk_memory_free(self->device, self->memory));
    self->memory = NULL;
    kolk_event_destroy(&self->event);
    kolk_stream_destroy(&self->stream);
    return KOLK_OK;
}

static kolk_status live(life *self)
{
    KOLK_TRY(be_born(self));
    KOLK_TRY(work(self));
    return die(self);
}

/* One life in which the `nth` call is refused: the caller is told, unless a
 * destructor is what was refused, and can give back all there is. False: there
 * were not that many calls. */
static bool survives(kolk_device device, size_t nth)
{
    life self = {.device = device};
    fault_install(device.kind);
    fault_at(FAULT_ANY, nth);
    const kolk_status status = live(&self);
    const fault_call refused = fault_refused();
    const bool is_told = refused != FAULT_ANY && refused != FAULT_stream_destroy &&
                         refused != FAULT_event_destroy;
    ck_assert_msg((status != KOLK_OK) == is_told, "%s refused: %s",
                  fault_call_name(refused), kolk_status_name(status));
    if (is_told)
        ck_assert_message(fault_call_name(refused));
    fault_at(FAULT_ANY, 0);
    if (self.stream != NULL) /* work may be queued that uses what is to go */
        ck_assert_ok(kolk_stream_synchronize(self.stream));
    ck_assert_ok(die(&self));
    ck_assert_msg(fault_nothing_lives(), "lost: %s", fault_call_name(refused));
    fault_remove();
    return refused != FAULT_ANY;
}

START_TEST(every_refusal_is_told_and_nothing_is_lost)
{
    size_t refusals = 0;
    while (survives(row_device(_i), refusals + 1))
        refusals++;
    ck_assert_uint_ge(refusals, FAULT_CALLS - 1); /* each kind at least once */
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("refusal");
    TCase *const core = tcase_create("core");
    const int first = rows_begin();
    const int end = rows_end();
    tcase_add_checked_fixture(core, rows_start, rows_finish);
    tcase_add_loop_test(core, every_refusal_is_told_and_nothing_is_lost, first, end);
    suite_add_tcase(suite, core);
    return rows_run(suite);
}
