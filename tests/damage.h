/* damage.h - tests of the verifier by damage: a pass of the test damages a valid module, and the driver
 * must name the pass, the place and the fault. */
#ifndef DAMAGE_H
#define DAMAGE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/script.h"
#include "compiler/passes/passes.h"

#define DAMAGE(name) static void name(struct cr_module *m)

/* Returns the module of a script, before the first pass. */
static inline struct cr_module *module_of(const char *path, const struct cr_setting *settings,
                                          int n)
{
    struct cr_script script;
    struct cr_error error;
    ck_assert_msg(cr_script_run(&(struct cr_script_source){.path = path}, settings, n, &script, &error) == 0,
                  "%s", error.text);
    struct cr_module *m = cr_module_new(script.graph);
    script.graph = NULL;
    cr_script_free(&script);
    return m;
}

/* Runs the passes up to the named one; each must succeed.  A null name stands for no pass. */
static inline void run_until(struct cr_module *m, const char *last)
{
    struct cr_error error;
    for (int i = 0; last && i < cr_n_passes; i++) {
        ck_assert_msg(cr_run_pass(m, &cr_passes[i], &error) == 0, "%s", error.text);
        if (strcmp(cr_passes[i].name, last) == 0)
            return;
    }
}

/* Returns true if a text begins with a pattern, in which %d stands for a number and %s for a word. */
static inline bool begins_with(const char *text, const char *pattern)
{
    for (; *pattern; pattern++) {
        if (*pattern != '%') {
            if (*text++ != *pattern)
                return false;
        } else if (*++pattern == 'd') {
            char *end;
            strtoll(text, &end, 10);
            if (end == text)
                return false;
            text = end;
        } else {
            text += strcspn(text, " :,)");
        }
    }
    return true;
}

/* Runs the pass, asserts that the error names it and begins with a message, and frees the module. */
static inline void expect_caught(struct cr_module *m, const struct cr_pass *pass, const char *name,
                                 const char *message)
{
    static const char after[] = "bug: after damage, ";
    struct cr_error error = {""};
    ck_assert_msg(cr_run_pass(m, pass, &error) != 0, "%s: not caught", name);
    ck_assert_msg(cr_is_bug(&error) && begins_with(error.text, after) &&
                      begins_with(error.text + strlen(after), message),
                  "%s: %s", name, error.text);
    ck_assert_msg(strpbrk(error.text, "\n") == NULL, "%s: more than a line", name);
    cr_module_free(m);
}

#endif
