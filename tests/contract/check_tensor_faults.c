/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

/* Every call of a tensor with each of its device calls failing in turn, and with
 * each of its requests for host memory refused: what fails has changed nothing,
 * and nothing leaks. */

#include "fault.h"
#include "tensor_rig.h"
#include <runtime/host_memory.h>

/* ---- host memory that is refused ---- */

static long until_refused; /* requests; 0: none */

void *__real_kolk_host_alloc(size_t size);
void *__wrap_kolk_host_alloc(size_t size);

void *__wrap_kolk_host_alloc(size_t size)
{
    if (until_refused > 0 && --until_refused == 0)
        return NULL;
    return __real_kolk_host_alloc(size);
}

/* ---- the calls ---- */

/* What they work on: a tensor, another on the second stream, and a pool of a
 * device that is unlike where there is one. */
static struct {
    kolk_tensor *x, *y;
    kolk_pool *far;
} operands;

static kolk_status create(kolk_tensor **out)
{
    return kolk_tensor_create(rig.second, &(kolk_tensor_spec){SHAPE(300, 300)},
                              rig.stream, out);
}

static kolk_status from_host(kolk_tensor **out)
{
    return kolk_tensor_from_host(rig.second, &(kolk_tensor_spec){SHAPE(2, 6)}, patterns,
                                 12, rig.stream, out);
}

static kolk_status clone_here(kolk_tensor **out)
{
    return kolk_tensor_clone(operands.x, rig.stream, out);
}

static kolk_status clone_there(kolk_tensor **out)
{
    return kolk_tensor_clone(operands.x, rig.other, out);
}

static kolk_status to_second(kolk_tensor **out)
{
    (void)out;
    return kolk_tensor_to(operands.x, rig.second, rig.other);
}

static kolk_status to_far(kolk_tensor **out)
{
    (void)out;
    return kolk_tensor_to(operands.x, operands.far, NULL);
}

static kolk_status stack(kolk_tensor **out)
{
    kolk_tensor *parts[] = {operands.x, operands.y, operands.x};
    return kolk_tensor_stack(parts, 3, rig.stream, out);
}

static kolk_status from_view(kolk_tensor **out)
{
    kolk_view view = kolk_tensor_view(operands.x);
    KOLK_TRY(kolk_view_transpose(&view, 0, 1, &view));
    return kolk_tensor_from_view(rig.second, &view, rig.stream, out);
}

static kolk_status cast(kolk_tensor **out)
{
    return kolk_tensor_cast(operands.x, KOLK_F16, out);
}

static kolk_status assign(kolk_tensor **out)
{
    (void)out;
    return kolk_tensor_assign(operands.y, operands.x);
}

static kolk_status accumulate(kolk_tensor **out)
{
    (void)out;
    return kolk_tensor_accumulate(operands.y, operands.x);
}

static kolk_status fill(kolk_tensor **out)
{
    (void)out;
    return kolk_tensor_fill(operands.y, patterns);
}

static kolk_status zero_grad(kolk_tensor **out)
{
    (void)out;
    return kolk_tensor_zero_grad(operands.y);
}

static kolk_status record(kolk_tensor **out)
{
    (void)out;
    return kolk_tensor_record(operands.x, rig.other);
}

static kolk_status write_values(kolk_tensor **out)
{
    (void)out;
    return kolk_tensor_write(operands.y, patterns, 12);
}

static kolk_status read_values(kolk_tensor **out)
{
    float values[12];
    (void)out;
    return kolk_tensor_read(operands.x, values, 12);
}

static kolk_status get(kolk_tensor **out)
{
    float value;
    (void)out;
    return kolk_tensor_get_flat(operands.x, 3, &value);
}

static kolk_status set(kolk_tensor **out)
{
    (void)out;
    return kolk_tensor_set_flat(operands.y, 3, patterns);
}

static const struct {
    const char *name;
    kolk_status (*run)(kolk_tensor **out);
} calls[] = {
    {"create", create},
    {"from_host", from_host},
    {"clone", clone_here},
    {"clone there", clone_there},
    {"to", to_second},
    {"to far", to_far},
    {"stack", stack},
    {"from_view", from_view},
    {"cast", cast},
    {"assign", assign},
    {"accumulate", accumulate},
    {"fill", fill},
    {"zero_grad", zero_grad},
    {"record", record},
    {"write", write_values},
    {"read", read_values},
    {"get", get},
    {"set", set},
};

enum { CALLS = sizeof calls / sizeof *calls };

/* ---- faults ---- */

typedef struct refusal {
    void (*arm)(long nth);
    bool (*disarm)(void); /* whether the call had been made */
} refusal;

static void arm_host_memory(long nth)
{
    until_refused = nth;
}

static bool disarm_host_memory(void)
{
    const bool was_reached = until_refused == 0;
    until_refused = 0;
    return was_reached;
}

static void arm_device(long nth)
{
    fault_install(rig.device.kind);
    fault_at(FAULT_ANY, (size_t)nth);
}

static bool disarm_device(void)
{
    const bool was_reached = fault_refused() != FAULT_ANY;
    fault_remove();
    return was_reached;
}

#ifdef KOLK_TESTS_EMULATED
static void arm_launch(long nth)
{
    emu_fail(EMU_cudaLaunchKernel, (size_t)nth, cudaErrorUnknown);
}

static bool disarm_launch(void)
{
    const bool was_reached = !emu_fail_is_armed();
    emu_fail(EMU_ANY, 0, 0);
    return was_reached;
}
#endif

static const refusal refusals[] = {
    {arm_host_memory, disarm_host_memory},
    {arm_device, disarm_device},
#ifdef KOLK_TESTS_EMULATED
    {arm_launch, disarm_launch},
#endif
};

/* ---- one try ---- */

static void open_operands(int row)
{
    rig_open(row);
    operands.x = new_pattern(KOLK_F32);
    const kolk_tensor_spec spec = {SHAPE(2, 6)};
    ck_assert_ok(kolk_tensor_create(rig.pool, &spec, rig.other, &operands.y));
    ck_assert_ok(kolk_stream_synchronize(rig.other));
    const int far = row == 0 ? rows_end() - 1 : row == 1 ? rows_end() - 1 : 0;
    ck_assert_ok(kolk_pool_create(row_device(far), NULL, &operands.far));
}

static void close_operands(void)
{
    kolk_tensor_destroy(&operands.x);
    kolk_tensor_destroy(&operands.y);
    close_pool(&operands.far);
    close_pool(&rig.pool);
    close_pool(&rig.second);
    kolk_stream_destroy(&rig.stream);
    kolk_stream_destroy(&rig.other);
}

/* False: the call was never made, so there is nothing more to refuse. */
static bool try(int row, const refusal *way, int call, long nth)
{
    kolk_tensor *out = NULL;
    open_operands(row);
    const void *const data = kolk_tensor_view(operands.x).data;
    const size_t held = requested(rig.pool);
    way->arm(nth);
    const kolk_status status = calls[call].run(&out);
    const bool was_reached = way->disarm();
    if (status != KOLK_OK) {
        ck_assert_msg(was_reached, "%s failed by itself: %s", calls[call].name,
                      kolk_last_error()->message);
        ck_assert_ptr_null(out);
        ck_assert_ptr_eq(kolk_tensor_view(operands.x).data, data);
        ck_assert_ptr_eq(kolk_tensor_pool(operands.x), rig.pool);
        ck_assert_uint_eq(requested(rig.pool), held);
        ck_assert_uint_eq(requested(rig.second), 0);
        ck_assert_uint_eq(requested(operands.far), 0);
    }
    assert_pattern(operands.x);
    kolk_tensor_destroy(&out);
    close_operands();
    return was_reached;
}

START_TEST(what_fails_has_changed_nothing_and_nothing_leaks)
{
    for (size_t kind = 0; kind < sizeof refusals / sizeof *refusals; kind++)
        for (int call = 0; call < CALLS; call++)
            for (long nth = 1; try(_i, &refusals[kind], call, nth); nth++)
                ;
}
END_TEST

#ifdef KOLK_TESTS_EMULATED
START_TEST(a_refused_launch_says_the_drivers_code_and_text)
{
    rig_open(_i);
    if (rig.device.kind == KOLK_HOST)
        return;
    kolk_tensor *x KOLK_AUTO(kolk_tensor_destroy) = new_pattern(KOLK_F32);
    int before = -1;
    int after = -1;
    ck_assert_int_eq(cudaGetDevice(&before), cudaSuccess);
    emu_fail(EMU_cudaLaunchKernel, 1, cudaErrorInvalidConfiguration);
    ck_assert_fails(kolk_tensor_fill(x, patterns), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorInvalidConfiguration);
    ck_assert_message(cudaGetErrorString(cudaErrorInvalidConfiguration));
    ck_assert_message("(code 9)");
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    ck_assert_int_eq(cudaGetDevice(&after), cudaSuccess);
    ck_assert_int_eq(before, after);
    assert_pattern(x);
}
END_TEST

START_TEST(without_a_device_the_drivers_own_code_and_text_are_the_error)
{
    kolk_pool *pool = NULL;
    emu_break(cudaErrorNoDevice);
    const size_t before = kolk_bookkeeping_size();
    ck_assert_fails(kolk_pool_create(kolk_cuda(0), NULL, &pool), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorNoDevice);
    ck_assert_message(cudaGetErrorString(cudaErrorNoDevice));
    ck_assert_ptr_null(pool);
    ck_assert_uint_eq(kolk_bookkeeping_size(), before);
    emu_break(0);
}
END_TEST
#endif

int main(void)
{
    Suite *const suite = suite_create("tensor_faults");
    TCase *const core = tcase_create("core");
    tcase_set_timeout(core, 60);
    tcase_add_checked_fixture(core, rows_start, rig_finish);
    RIG_ADD(core, what_fails_has_changed_nothing_and_nothing_leaks);
#ifdef KOLK_TESTS_EMULATED
    RIG_ADD(core, a_refused_launch_says_the_drivers_code_and_text);
    tcase_add_test(core, without_a_device_the_drivers_own_code_and_text_are_the_error);
#endif
    suite_add_tcase(suite, core);
    return rows_run(suite);
}
