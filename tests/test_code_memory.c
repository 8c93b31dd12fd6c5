/*
 * test_code_memory.c - machine code that was compiled in memory: no page is ever both writable and
 * executable, on systems that forbid either or both.
 *
 * Linux enforces that with filters of system calls and with PR_SET_MDWE, in a process of the test's own.
 * valgrind makes such pages for itself: under it only the code is run.
 */
#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/exec/code_memory.h"
#include "compiler/exec/exec.h"

/* Of Linux 6.3. */
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif

static char text[] =
    "static const float halves[] = {.5f, 1.5f, 2.5f};\n"
    "int hand_execute(const struct cr_runtime *rt, struct cr_pool *pool, const float *weights,\n"
    "                 const void *const *inputs, void *const *outputs, float *arena)\n"
    "{\n"
    "    const float *x = inputs[0];\n"
    "    float *y = outputs[0];\n"
    "    (void)rt;\n"
    "    (void)pool;\n"
    "    (void)weights;\n"
    "    (void)arena;\n"
    "    for (int i = 0; i < 3; i++)\n"
    "        y[i] = x[i] + halves[i];\n"
    "    return 3;\n"
    "}\n";

static struct cr_entry entry = {.name = ""};

static int compile(struct cr_code *code, struct cr_error *error)
{
    struct cr_program p = {.name = "hand",
                           .entries = &entry,
                           .n_entries = 1,
                           .text = text,
                           .text_length = sizeof text - 1};
    return cr_compile_tcc(&p, code, error);
}

static bool runs(const struct cr_code *code)
{
    const float x[] = {1, 2, 3};
    float y[3];
    const void *inputs[] = {x};
    void *outputs[] = {y};
    return code->execute[0](NULL, NULL, NULL, inputs, outputs, NULL) == 3 && y[0] == 1.5f &&
           y[1] == 3.5f && y[2] == 5.5f;
}

/* Counts the lines of /proc/self/maps with these rights (letters of "rwxsp") whose path is
 * `name`. */
static int mappings(const char *rights, const char *name)
{
    int count = 0;
    char line[4400], found[8];
    FILE *file = fopen("/proc/self/maps", "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file)) {
        bool good = sscanf(line, "%*s %7s", found) == 1 && strstr(line, name);
        for (const char *p = rights; *p; p++)
            good = good && strchr(found, *p);
        count += good;
    }
    fclose(file);
    return count;
}

static bool under_valgrind(void)
{
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "vgpreload");
}

/* Checks the pages while two models are open, then one, then none. */
START_TEST(pages_are_executable_or_writable)
{
    struct cr_code one = {0}, two = {0};
    struct cr_error error = {""};
    int before = mappings("wx", "");
    ck_assert_int_eq(mappings("", "crescent-code"), 0);
    ck_assert_msg(compile(&one, &error) == 0, "%s", error.text);
    ck_assert_int_eq(mappings("rx", "crescent-code"), 1);
    ck_assert_msg(compile(&two, &error) == 0, "%s", error.text);
    ck_assert_int_eq(mappings("rx", "crescent-code"), 2);
    ck_assert_int_eq(mappings("w", "crescent-code"), 0);
    if (!under_valgrind())
        ck_assert_int_eq(mappings("wx", ""), before);
    cr_code_free(&one);
    ck_assert(runs(&two));
    ck_assert_int_eq(mappings("", "crescent-code"), 1);
    cr_code_free(&two);
    ck_assert_int_eq(mappings("", "crescent-code"), 0);
}
END_TEST

/* Code memory can be freed before it becomes executable. */
START_TEST(freed_while_writable)
{
    struct cr_code_memory memory;
    ck_assert(cr_code_memory_new(&memory, 5000));
    ck_assert(memory.bytes >= 5000 && mappings("rw", "crescent-code") == 1);
    memset(memory.start, 1, memory.bytes);
    int fd = memory.fd;
    ck_assert_int_ge(fd, 0);
    cr_code_memory_free(&memory);
    ck_assert(!memory.start && mappings("", "crescent-code") == 0);
    ck_assert_int_eq(close(fd), -1);
    cr_code_memory_free(&memory);
}
END_TEST

/* ---- what a system forbids ---- */

/* A rule: a system call is refused if all of these bits of its third argument are set. */
struct rule {
    int number;
    unsigned bits;
    unsigned action;
};

#define REFUSE (SECCOMP_RET_ERRNO | EPERM)
#define WRITE_EXEC (PROT_WRITE | PROT_EXEC)

static const struct {
    const char *what;
    struct rule rules[4];
    bool mdwe;
    rlim_t file_size;    /* 0: no limit */
    const char *message; /* the expected error, or null if code is compiled and runs */
} systems[] = {
    {.what = "writable and executable pages end the process",
     .rules = {{SYS_mmap, WRITE_EXEC, SECCOMP_RET_KILL_PROCESS},
               {SYS_mprotect, WRITE_EXEC, SECCOMP_RET_KILL_PROCESS}}},
    {.what = "nothing becomes executable (systemd)",
     .rules = {{SYS_mmap, WRITE_EXEC, REFUSE}, {SYS_mprotect, PROT_EXEC, REFUSE}}},
    {.what = "PR_SET_MDWE", .mdwe = true},
    {.what = "no files in memory",
     .rules = {{SYS_memfd_create, 0, REFUSE},
               {SYS_mmap, WRITE_EXEC, SECCOMP_RET_KILL_PROCESS},
               {SYS_mprotect, WRITE_EXEC, SECCOMP_RET_KILL_PROCESS}}},
    {.what = "mapped files are not executable", .rules = {{SYS_mmap, PROT_EXEC, REFUSE}}},
    {.what = "files are short", .file_size = 100},
    {.what = "nothing is executable",
     .rules = {{SYS_mmap, PROT_EXEC, REFUSE}, {SYS_mprotect, PROT_EXEC, REFUSE}},
     .message = "this system forbids code that is compiled in memory"},
};
enum { N_SYSTEMS = sizeof systems / sizeof *systems };

/* The offset of the low word of the third argument. */
static const unsigned third = offsetof(struct seccomp_data, args[2]) +
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
                              4;
#else
                              0;
#endif

/* Applies the rules to this process from now on. */
static bool filter(const struct rule *rules)
{
    struct sock_filter code[4 * 6 + 1];
    unsigned short n = 0;
    for (int i = 0; i < 4 && rules[i].number; i++) {
        code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                 offsetof(struct seccomp_data, nr));
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                 (unsigned)rules[i].number, 0, 4);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, third);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, rules[i].bits);
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rules[i].bits, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, rules[i].action);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {n, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* What a child ends with. */
enum { GOOD = 0, BAD = 1, NOT_HERE = 77 };

/* Compiles, runs and frees a model under the rules of system i. */
static int run_on_system(int i)
{
    struct cr_code code = {0};
    struct cr_error error = {""};
    struct rlimit limit = {systems[i].file_size, systems[i].file_size};
    if (systems[i].file_size && setrlimit(RLIMIT_FSIZE, &limit))
        return NOT_HERE;
    if (systems[i].mdwe && prctl(PR_SET_MDWE, 1, 0, 0, 0))
        return NOT_HERE;
    if (systems[i].rules[0].number && !filter(systems[i].rules))
        return NOT_HERE;
    int status = compile(&code, &error);
    if (systems[i].message)
        return status == -1 && strstr(error.text, systems[i].message) ? GOOD : BAD;
    if (status || !runs(&code))
        return BAD;
    cr_code_free(&code);
    return GOOD;
}

START_TEST(systems_that_forbid)
{
    int status;
    if (under_valgrind())
        return;
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (!child)
        _exit(run_on_system(_i));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "%s: signal %d", systems[_i].what, WTERMSIG(status));
    if (WEXITSTATUS(status) == NOT_HERE)
        printf("skipped: %s: not on this kernel\n", systems[_i].what);
    else
        ck_assert_msg(WEXITSTATUS(status) == GOOD, "%s", systems[_i].what);
}
END_TEST

/* The filters work: a process that asks for a writable and executable page is ended. */
START_TEST(filters_catch)
{
    int status;
    if (under_valgrind())
        return;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        if (!filter(systems[0].rules))
            _exit(NOT_HERE);
        void *page = mmap(NULL, 4096, WRITE_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        _exit(page == MAP_FAILED ? GOOD : BAD);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
        return;
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("code_memory");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, pages_are_executable_or_writable);
    tcase_add_test(all, freed_while_writable);
    tcase_add_test(all, filters_catch);
    tcase_add_loop_test(all, systems_that_forbid, 0, N_SYSTEMS);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
