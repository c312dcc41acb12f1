/* SPDX-License-Identifier: Apache-2.0
 *
 * From launches and graph nodes back to calls, without a GPU or a host process.
 */
#include <criterion/criterion.h>

#include "tracer/launches.h"

enum { RING = 1 << 17 };

static struct tilewise_signature gemm(int64_t m)
{
    return (struct tilewise_signature){ .op = TILEWISE_OP_GEMM, .m = m, .n = 8, .k = 8 };
}

static void start(void)
{
    cr_assert(launches_start());
}

static int64_t m_of(struct launches_found found)
{
    if (found.op == 0)
        return 0;
    struct launches_place place = launches_place(found.op);
    return table_key(&place.thread->table, place.entry)->m;
}

Test(launches, a_kernel_belongs_to_the_call_that_launched_it, .init = start)
{
    uint32_t one = launches_number(), two = launches_number();
    struct tilewise_signature a = gemm(1), b = gemm(2);
    launches_add(10, one, true);
    launches_add(11, two, true);
    launches_add(12, two, false); /* its second kernel */
    launches_name(two, NULL, &b);
    launches_name(one, NULL, &a);
    cr_assert_eq(m_of(launches_find(10, 0)), 1);
    cr_assert_eq(m_of(launches_find(11, 0)), 2);
    cr_assert_eq(m_of(launches_find(12, 0)), 2);
    cr_assert(launches_find(11, 0).is_first);
    cr_assert_not(launches_find(12, 0).is_first);
}

Test(launches, each_thread_has_a_table_of_its_own, .init = start)
{
    enum loss_cause cause;
    struct thread *t = thread_take(&cause), *u = thread_take(&cause);
    struct tilewise_signature a = gemm(1), b = gemm(2), c = gemm(3);
    launches_add(10, 1, true);
    launches_add(11, 2, true);
    launches_add(12, 3, true);
    launches_name(1, t, &a);
    launches_name(2, u, &b);
    launches_name(3, NULL, &c);
    cr_assert_eq(m_of(launches_find(10, 0)), 1);
    cr_assert_eq(m_of(launches_find(11, 0)), 2);
    cr_assert_eq(m_of(launches_find(12, 0)), 3);
    cr_assert_eq(launches_place(launches_find(10, 0).op).thread, t);
    cr_assert_eq(launches_place(launches_find(11, 0).op).thread, u);
}

Test(launches, what_no_call_made_has_no_op, .init = start)
{
    launches_add(10, 0, true);
    launches_add(11, launches_number(), true); /* a call that failed: never named */
    cr_assert_eq(launches_find(10, 0).op, 0);
    cr_assert_not(launches_find(10, 0).is_first);
    cr_assert_eq(launches_find(11, 0).op, 0);
    cr_assert_eq(launches_find(77, 0).op, 0);
    cr_assert_eq(launches_find(10, 123).op, 0);
}

Test(launches, old_ones_are_forgotten_and_not_mixed_up, .init = start)
{
    struct tilewise_signature a = gemm(1);
    uint32_t one = launches_number();
    launches_add(10, one, true);
    launches_name(one, NULL, &a);
    launches_add(10 + RING, 0, false); /* the same place */
    cr_assert_eq(launches_find(10, 0).op, 0);
    cr_assert_eq(launches_find(10 + RING, 0).op, 0);
}

Test(launches, a_number_of_several_launches_is_of_no_call, .init = start)
{
    struct tilewise_signature a = gemm(1);
    uint32_t one = launches_number();
    launches_add(10, one, true);
    launches_name(one, NULL, &a);
    cr_assert_neq(launches_find(10, 0).launch_ticks, 0);
    launches_blur(10);
    struct launches_found found = launches_find(10, 0);
    cr_assert_eq(found.op, 0);
    cr_assert_eq(found.launch_ticks, 0);
    cr_assert_not(found.is_first);
    cr_assert_not(found.is_running);
}

Test(launches, a_clone_of_a_node_is_the_same_call, .init = start)
{
    struct tilewise_signature a = gemm(1);
    uint32_t one = launches_number(), none = launches_number();
    launches_add_node(100, one, true);
    launches_add_node(101, one, false);
    launches_name(one, NULL, &a);
    launches_add_node(200, none, true); /* made while it is instantiated: the clone comes after */
    launches_clone_node(200, 100);
    launches_clone_node(201, 101);
    launches_clone_node(202, 999);
    cr_assert_eq(m_of(launches_find(0, 200)), 1);
    cr_assert(launches_find(0, 200).is_first);
    cr_assert_eq(m_of(launches_find(0, 201)), 1);
    cr_assert_not(launches_find(0, 201).is_first);
    cr_assert_eq(launches_find(0, 202).op, 0);
}

Test(launches, a_clone_outlives_the_number_of_its_call, .init = start)
{
    struct tilewise_signature a = gemm(1), b = gemm(2);
    uint32_t one = launches_number();
    launches_add_node(100, one, true);
    launches_name(one, NULL, &a);
    launches_clone_node(200, 100);
    for (int i = 0; i < RING + 1; i++)
        launches_name(launches_number(), NULL, &b);
    cr_assert_eq(m_of(launches_find(0, 200)), 1);
}

Test(launches, executable_graphs_know_their_kernels, .init = start)
{
    int x = 0, y = 0; /* only their addresses count */
    cr_assert_eq(launches_exec(&x), 0);
    launches_set_exec(&x, 12);
    launches_set_exec(&y, 3);
    cr_assert_eq(launches_exec(&x), 12);
    launches_set_exec(&x, 0); /* destroyed */
    cr_assert_eq(launches_exec(&x), 0);
    cr_assert_eq(launches_exec(&y), 3);
    launches_set_exec(&x, 5); /* the address again */
    cr_assert_eq(launches_exec(&x), 5);
}

Test(launches, more_nodes_than_there_is_room_for_are_known_by_name_alone, .init = start)
{
    struct tilewise_signature a = gemm(1);
    uint32_t one = launches_number();
    launches_name(one, NULL, &a);
    for (uint64_t node = 1; node <= 600000; node++)
        launches_add_node(node, one, false);
    cr_assert_eq(m_of(launches_find(0, 500000)), 1);
    cr_assert_eq(launches_find(0, 600000).op, 0);
}

Test(launches, without_memory_nothing_is_found)
{
    struct tilewise_signature a = gemm(1);
    launches_add(10, 1, true);
    launches_name(1, NULL, &a);
    launches_add_node(5, 1, true);
    launches_clone_node(6, 5);
    launches_set_exec(&a, 3);
    cr_assert_eq(launches_find(10, 0).op, 0);
    cr_assert_eq(launches_find(0, 5).op, 0);
    cr_assert_eq(launches_exec(&a), 0);
}
