/*
 * test_ranks.c - join_ranks.h: a single rank without MPI, and the errors where MPI is missing.
 *
 * `test_ranks exchange`, which tests/ranks.sh starts by mpirun, exchanges by every function, and fails if a
 * byte is not what it should be; `test_ranks fail RANK` lets a rank fail while the others wait for it.
 */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "compiler/exec/join_ranks.h"

/* ---- under mpirun ---- */

/* Returns byte i of the message that rank r sends. */
static unsigned char byte_of_message(int r, size_t i)
{
    return (unsigned char)(r * 31 + (int)(i % 251));
}

static bool has_message(const unsigned char *data, size_t n, int r)
{
    for (size_t i = 0; i < n; i++)
        if (data[i] != byte_of_message(r, i))
            return false;
    return true;
}

static void make_message(unsigned char *data, size_t n, int r)
{
    for (size_t i = 0; i < n; i++)
        data[i] = byte_of_message(r, i);
}

/* Tests gathering: rank r has r * `each` bytes, so rank 0 has none. */
static bool gathers(struct cr_ranks *ranks, size_t each)
{
    size_t *first = calloc((size_t)ranks->count + 1, sizeof *first);
    for (int r = 0; r < ranks->count; r++)
        first[r + 1] = first[r] + (size_t)r * each;
    unsigned char *data = calloc(first[ranks->count] + 1, 1);
    make_message(data + first[ranks->rank], (size_t)ranks->rank * each, ranks->rank);
    ranks->all_gather(ranks, data, first);
    bool right = data[first[ranks->count]] == 0;
    for (int r = 0; r < ranks->count; r++)
        right &= has_message(data + first[r], (size_t)r * each, r);
    free(data);
    free(first);
    return right;
}

static bool broadcasts(struct cr_ranks *ranks, size_t n, int from)
{
    unsigned char *data = calloc(n, 1);
    if (ranks->rank == from)
        make_message(data, n, from);
    ranks->broadcast(ranks, data, n, from);
    bool right = has_message(data, n, from);
    free(data);
    return right;
}

/* Tests sending from each rank to the next: even ranks send first. */
static bool sends_to_next(struct cr_ranks *ranks, size_t n)
{
    int to = (ranks->rank + 1) % ranks->count, from = (ranks->rank + ranks->count - 1) % ranks->count;
    unsigned char *mine = calloc(n, 1), *other = calloc(n, 1);
    make_message(mine, n, ranks->rank);
    if (ranks->rank % 2 == 0)
        ranks->send(ranks, mine, n, to);
    ranks->receive(ranks, other, n, from);
    if (ranks->rank % 2)
        ranks->send(ranks, mine, n, to);
    bool right = has_message(other, n, from);
    free(mine);
    free(other);
    return right;
}

/* Tests an exchange of three blocks between all pairs of ranks, more than are sent at a time if
 * there are many ranks. */
static bool exchanges(struct cr_ranks *ranks, size_t n)
{
    enum { BLOCKS = 3 };
    size_t messages = (size_t)(2 * BLOCKS * ranks->count), at = 0;
    struct cr_message *list = calloc(messages, sizeof *list);
    unsigned char *mine = calloc(BLOCKS, n), *theirs = calloc((size_t)(BLOCKS * ranks->count), n);
    bool right = true;
    for (int block = 0; block < BLOCKS; block++)
        make_message(mine + (size_t)block * n, n, ranks->rank + block);
    for (int block = 0; block < BLOCKS; block++)
        for (int from = 0; from < ranks->count; from++)
            for (int to = 0; to < ranks->count; to++)
                if (from != to && from == ranks->rank)
                    list[at++] = (struct cr_message){mine + (size_t)block * n, n, to, 0};
                else if (from != to && to == ranks->rank)
                    list[at++] = (struct cr_message){
                        theirs + (size_t)(block * ranks->count + from) * n, n, from, 1};
    ranks->exchange(ranks, list, (int)at);
    for (size_t i = 0; i < at; i++)
        if (list[i].is_received)
            right &= has_message(list[i].data, n,
                          list[i].other + (int)((unsigned char *)list[i].data - theirs) / (int)n /
                                              ranks->count);
    free(list);
    free(mine);
    free(theirs);
    return right;
}

/* Returns the number of bytes that the calls of `exchange` have sent, over all ranks. */
static long long sent_in_all(const struct cr_ranks *ranks)
{
    long long others = ranks->count - 1, sent = ranks->rank * (1 + 1000000LL) * others;
    sent += (ranks->rank == 0 ? 12345 : 0) * others + (ranks->rank == ranks->count - 1 ? 7 : 0) * others;
    return sent + (ranks->count > 1 ? 100001 : 0) + 3 * 5003 * others;
}

static int exchange(struct cr_ranks *ranks)
{
    bool right = gathers(ranks, 1) && gathers(ranks, 1000000) && broadcasts(ranks, 12345, 0) &&
                 broadcasts(ranks, 7, ranks->count - 1) &&
                 (ranks->count == 1 || sends_to_next(ranks, 100001)) && exchanges(ranks, 5003) &&
                 ranks->sent == sent_in_all(ranks);
    ranks->barrier(ranks);
    if (!right) {
        fprintf(stderr, "rank %d of %d: wrong bytes\n", ranks->rank, ranks->count);
        ranks->abort(ranks, 1);
        return 1;
    }
    if (ranks->rank == 0)
        printf("%d ranks\n", ranks->count);
    cr_ranks_close(ranks);
    return 0;
}

/* Lets rank `failing` fail, or all if it is -1; the others wait at a barrier. */
static int fail_rank(struct cr_ranks *ranks, int failing)
{
    if (failing < 0 || ranks->rank == failing) {
        cr_ranks_wait_to_fail(ranks);
        fprintf(stderr, "rank %d fails\n", ranks->rank);
        ranks->abort(ranks, 2);
    }
    ranks->barrier(ranks);
    return 0;
}

/* ---- without ---- */

START_TEST(one_rank_needs_no_mpi)
{
    struct cr_error error = {""};
    struct cr_ranks *ranks = NULL;
    const size_t first[] = {0, 3};
    char data[] = "abc";
    ck_assert_int_eq(cr_ranks_open(&ranks, &error), 0);
    ck_assert_int_eq(ranks->rank, 0);
    ck_assert_int_eq(ranks->count, 1);
    ranks->all_gather(ranks, data, first);
    ranks->broadcast(ranks, data, 3, 0);
    ranks->barrier(ranks);
    ck_assert_str_eq(data, "abc");
    ck_assert_int_eq(ranks->sent, 0);
    cr_ranks_close(ranks);
}
END_TEST

START_TEST(launchers_say_how_many)
{
    ck_assert_int_eq(cr_launched_ranks(), 1);
    setenv("PMI_SIZE", "3", 1);
    ck_assert_int_eq(cr_launched_ranks(), 3);
    setenv("OMPI_COMM_WORLD_SIZE", "5", 1);
    ck_assert_int_eq(cr_launched_ranks(), 5);
    setenv("OMPI_COMM_WORLD_SIZE", "many", 1);
    ck_assert_int_eq(cr_launched_ranks(), 1);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMI_SIZE");
    setenv("PMIX_RANK", "0", 1);
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    ck_assert_int_eq(cr_launched_ranks(), 4);
}
END_TEST

START_TEST(several_ranks_need_an_object)
{
    struct cr_error error = {""};
    struct cr_ranks *ranks = NULL;
    setenv("PMI_SIZE", "3", 1);
    setenv("CRESCENT_MPI", "/nowhere/crescent_mpich.so", 1);
    ck_assert_int_eq(cr_ranks_open(&ranks, &error), -1);
    ck_assert_ptr_null(ranks);
    ck_assert_ptr_nonnull(strstr(error.text, "started as 3 ranks, but found no crescent_mpich.so"));
    setenv("CRESCENT_MPI", "/dev/null", 1);
    ck_assert_int_eq(cr_ranks_open(&ranks, &error), -1);
    ck_assert_ptr_nonnull(strstr(error.text, "/dev/null: cannot be loaded"));
}
END_TEST

START_TEST(exchanges_need_memory)
{
    struct cr_error error = {""};
    struct cr_ranks ranks = {.count = 2};
    struct rlimit as_before, few;
    ck_assert_int_eq(cr_ranks_check_memory(&ranks, "m.lua", &error), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &as_before), 0);
    few = as_before;
    few.rlim_cur = 1 << 20; /* less than the process has */
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &few), 0);
    int status = cr_ranks_check_memory(&ranks, "m.lua", &error);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &as_before), 0);
    ck_assert_int_eq(status, -1);
    ck_assert_ptr_nonnull(strstr(error.text, "m.lua: less than 4 MiB of memory are left"));
    ranks.count = 1;
    ck_assert_int_eq(cr_ranks_check_memory(&ranks, "m.lua", &error), 0);
    ck_assert_int_eq(cr_ranks_check_memory(NULL, "m.lua", &error), 0);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1) {
        struct cr_error error = {""};
        struct cr_ranks *ranks = NULL;
        if (cr_ranks_open(&ranks, &error)) {
            fprintf(stderr, "%s\n", error.text);
            return 2;
        }
        return argc > 2 ? fail_rank(ranks, atoi(argv[2])) : exchange(ranks);
    }
    Suite *suite = suite_create("ranks");
    TCase *tcase = tcase_create("ranks");
    tcase_add_test(tcase, one_rank_needs_no_mpi);
    tcase_add_test(tcase, launchers_say_how_many);
    tcase_add_test(tcase, several_ranks_need_an_object);
    tcase_add_test(tcase, exchanges_need_memory);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
