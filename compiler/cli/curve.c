/* curve.c - losses by gnuplot, which reads its script here and writes where it is told. */
#include "curve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/exec/child.h"
#include "runtime/files.h"

enum { MAX_POINTS = 1000 /* of the line: more losses than that are averaged */ };

/* Runs gnuplot from one open file to another; its exit status, or -1 with errno set. */
static int gnuplot(int in, int out)
{
    posix_spawn_file_actions_t actions;
    char *argv[] = {"gnuplot", NULL};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    return cr_child_run(argv, &actions);
}

/* What gnuplot calls the format of a path, or null. */
static const char *terminal_of(const char *path)
{
    size_t length = strlen(path);
    const char *end = path + (length > 4 ? length - 4 : 0);
    return strcmp(end, ".svg") == 0 ? "svg" : strcmp(end, ".png") == 0 ? "pngcairo" : NULL;
}

static void set_terminal(FILE *file, const char *path)
{
    fprintf(file, "set terminal %s size 760,340 font 'sans-serif,%d' background rgb 'white'\n",
            terminal_of(path), strcmp(terminal_of(path), "svg") == 0 ? 12 : 9);
}

int cr_curve_check(const char *path, struct cr_error *error)
{
    if (!terminal_of(path))
        return cr_fail(error, "--loss-curve %.400s: expected a name that ends in .svg or .png",
                       path);
    FILE *script = tmpfile();
    if (!script)
        return cr_fail(error, "no file for gnuplot can be made: %s", strerror(errno));
    set_terminal(script, path);
    rewind(script);
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int status = gnuplot(fileno(script), nothing);
    close(nothing);
    fclose(script);
    if (status < 0)
        return cr_fail(error, "--loss-curve: gnuplot cannot be run, expected it installed (it "
                              "draws the curve)");
    return status
               ? cr_fail(error, "--loss-curve %.400s: this gnuplot cannot draw such a file", path)
               : 0;
}

bool cr_curve_has_points(const struct cr_curve *c)
{
    for (int i = 0; i < c->n; i++)
        if (isfinite(c->losses[i]))
            return true;
    return false;
}

/* Whether the axis of the losses cannot begin at 0. */
static bool goes_below_zero(const struct cr_curve *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->losses[i] < 0)
            return true;
    return false;
}

/* The losses, one a line; those that are no numbers leave a gap. */
static void print_losses(FILE *file, const struct cr_curve *c)
{
    fprintf(file, "$losses << END\n");
    for (int i = 0; i < c->n; i++)
        fprintf(file, "%" PRId64 " %.9g\n", c->first + 1 + i, c->losses[i]);
    fprintf(file, "END\n");
}

/* A title in double quotes: what gnuplot would take for more than text is left out. */
static void print_title(FILE *file, const char *title)
{
    fprintf(file, "set title \"");
    for (; *title; title++)
        fputc(strchr("\"\\`", *title) || (unsigned char)*title < ' ' ? '?' : *title, file);
    fprintf(file, "\" noenhanced\n");
}

static void print_script(FILE *file, const struct cr_curve *c, const char *title, const char *path)
{
    int window = (c->n + MAX_POINTS - 1) / MAX_POINTS;
    print_losses(file, c);
    print_title(file, title);
    set_terminal(file, path);
    fprintf(file,
            "set grid linecolor rgb '#dddddd' linewidth 1\n"
            "set border linecolor rgb '#777777'\n"
            "set xlabel 'step'\nset ylabel 'loss'\nset yrange [%s:*]\n"
            "set xrange [%" PRId64 ":%" PRId64 "]\n"
            "w = %d.0\n"
            "plot $losses using (floor(($1 - 1) / w) * w + (w + 1) / 2):2 smooth unique "
            "with lines linecolor rgb '#4682b4' linewidth 2 notitle\n",
            goes_below_zero(c) ? "*" : "0", c->first, c->first + c->n, window);
}

int cr_curve_draw(const struct cr_curve *c, const char *title, const char *path,
                  struct cr_error *error)
{
    struct cr_writer writer;
    FILE *script = tmpfile();
    int status = -1;
    if (!script)
        return cr_fail(error, "no file for gnuplot can be made: %s", strerror(errno));
    if (cr_writer_open(&writer, path, error->text, sizeof error->text) == 0) {
        print_script(script, c, title, path);
        rewind(script);
        if (gnuplot(fileno(script), fileno(writer.file)) == 0) {
            status = cr_writer_commit(&writer, error->text, sizeof error->text);
        } else {
            cr_writer_discard(&writer);
            cr_fail(error, "%.400s: gnuplot failed, expected a picture of it", path);
        }
    }
    fclose(script);
    return status;
}
