/* SPDX-License-Identifier: MIT */

/* The emulated machine launches what was captured. */

#include "../support/emulator.h"
#include "../support/suite.h"

static cudaStream_t stream, other;
static void *data;

static void boot(void)
{
    emu_reset(&(emu_config){.devices = 2});
    ck_assert_int_eq(cudaMalloc(&data, 4096), 0);
    ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), 0);
    ck_assert_int_eq(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), 0);
}

static void halt(void)
{
    ck_assert_uint_eq(emu_violations(), 0);
}

static void begin_global(void)
{
    ck_assert_int_eq(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), 0);
}

static cudaGraphExec_t capture_two_fills(void)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t made = NULL;
    begin_global();
    ck_assert_int_eq(cudaMemsetAsync(data, 1, 1, stream), 0);
    ck_assert_int_eq(cudaMemsetAsync(data, 2, 1, stream), 0);
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), 0);
    ck_assert_int_eq(cudaGraphInstantiate(&made, graph, 0), 0);
    ck_assert_int_eq(cudaGraphDestroy(graph), 0);
    return made;
}

START_TEST(a_graph_can_be_launched_again_and_again)
{
    const cudaGraphExec_t graph = capture_two_fills();
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(cudaGraphLaunch(graph, other), 0);
        ck_assert_uint_eq(emu_advance(other, 1), 1);
        ck_assert_int_eq(*(char *)data, 1);
        ck_assert_uint_eq(emu_finish(other), 1);
        ck_assert_int_eq(*(char *)data, 2);
    }
    ck_assert_int_eq(cudaGraphExecDestroy(graph), 0);
    ck_assert_uint_eq(emu_objects_now().graphs, 0);
}
END_TEST

START_TEST(the_work_of_a_graph_needs_an_order_like_any_other)
{
    const cudaGraphExec_t graph = capture_two_fills();
    emu_tolerate(true);
    ck_assert_int_eq(emu_touch(stream, data, 1, false), 0);
    ck_assert_uint_eq(emu_violations(), 0);
    ck_assert_int_eq(cudaGraphLaunch(graph, other), 0);
    ck_assert_uint_eq(emu_violations(), 1);
    emu_reset(NULL);
}
END_TEST

static void copy_argument(void *argument)
{
    *(char *)data = *(const char *)argument;
}

START_TEST(a_graph_keeps_the_arguments_of_its_kernels)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t made = NULL;
    char argument = 7;
    begin_global();
    ck_assert_int_eq(EMU_LAUNCH(stream, copy_argument, &argument, EMU_WRITE(data, 1)),
                     0);
    argument = 8;
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), 0);
    ck_assert_int_eq(cudaGraphInstantiate(&made, graph, 0), 0);
    ck_assert_int_eq(cudaGraphLaunch(made, stream), 0);
    ck_assert_int_eq(cudaStreamSynchronize(stream), 0);
    ck_assert_int_eq(*(char *)data, 7);
    ck_assert_uint_eq(emu_objects_now().graphs, 2);
    emu_reset(NULL);
    ck_assert_uint_eq(emu_objects_now().graphs, 0);
}
END_TEST

START_TEST(no_graph_is_an_error)
{
    cudaGraphExec_t made = NULL;
    ck_assert_int_eq(cudaGraphInstantiate(&made, NULL, 0), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaGraphLaunch(NULL, stream), cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(cudaGraphDestroy(NULL), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaGraphExecDestroy(NULL), cudaErrorInvalidValue);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("emulator_graph");
    TCase *const tests = tcase_create("graphs");
    tcase_add_checked_fixture(tests, boot, halt);
    tcase_add_test(tests, a_graph_can_be_launched_again_and_again);
    tcase_add_test(tests, the_work_of_a_graph_needs_an_order_like_any_other);
    tcase_add_test(tests, a_graph_keeps_the_arguments_of_its_kernels);
    tcase_add_test(tests, no_graph_is_an_error);
    suite_add_tcase(suite, tests);
    return kolk_run_suite(suite);
}
