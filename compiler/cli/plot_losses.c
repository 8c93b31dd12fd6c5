/* plot_losses.c - draws losses by gnuplot; see plot_losses.h.  gnuplot's script and picture are
 * files in memory. */
#include "plot_losses.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/exec/child_process.h"

/* ---- gnuplot ---- */

/* Runs gnuplot with a script from one open file and a picture to another; returns its exit
 * status, or -1 with errno set. */
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

/* Opens a file in memory, for a script or a picture. */
static FILE *memory_file(struct cr_error *error)
{
    int fd = memfd_create("curve", MFD_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");
    if (!file)
        cr_fail(error, "cannot allocate memory for gnuplot's script and picture: %s",
                strerror(errno));
    if (!file && fd >= 0)
        close(fd);
    return file;
}

/* Flushes a script in memory and seeks to its start; fails if any write failed. */
static int rewind_script(FILE *file, struct cr_error *error)
{
    if (fflush(file) != 0 || ferror(file) || fseek(file, 0, SEEK_SET) != 0)
        return cr_fail(error, "gnuplot's script cannot be written: %s", strerror(errno));
    return 0;
}

/* Returns gnuplot's name for the picture format that a path ends in; null if it has none. */
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
    FILE *script = memory_file(error);
    if (!script)
        return -1;
    set_terminal(script, path);
    int status = rewind_script(script, error);
    if (!status) {
        int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
        int result = gnuplot(fileno(script), nothing);
        close(nothing);
        if (result < 0)
            status = cr_fail(error, "--loss-curve: gnuplot cannot be run, expected it installed "
                                    "(it draws the curve)");
        else if (result)
            status =
                cr_fail(error, "--loss-curve %.400s: this gnuplot cannot draw such a file, "
                        "expected one with the terminal for it", path);
    }
    fclose(script);
    return status;
}

/* ---- the script ---- */

static bool is_shown(const struct cr_curve *c, double loss)
{
    return !c->logarithmic || loss > 0;
}

/* Returns loss i of a kind, which must exist. */
static crescent_loss loss_at(const struct cr_curve *c, crescent_loss_kind kind, int i)
{
    crescent_loss loss = {0, 0};
    crescent_loss_at(c->trainer, kind, i, &loss);
    return loss;
}

/* True if a loss of a kind can be shown on the axis; a logarithmic axis shows only positive
 * ones. */
static bool has_shown(const struct cr_curve *c, crescent_loss_kind kind)
{
    for (int i = 0; i < crescent_loss_count(c->trainer, kind); i++)
        if (is_shown(c, loss_at(c, kind, i).loss))
            return true;
    return false;
}

bool cr_curve_has_points(const struct cr_curve *c)
{
    return has_shown(c, CRESCENT_STEP_LOSSES);
}

/* True if a loss of a kind is negative, so that the axis must begin below 0. */
static bool goes_below_zero(const struct cr_curve *c, crescent_loss_kind kind)
{
    bool below = false;
    for (int i = 0; i < crescent_loss_count(c->trainer, kind); i++)
        below |= loss_at(c, kind, i).loss < 0;
    return below;
}

/* Prints a point of the curve; a point that cannot be shown leaves a gap. */
static void print_point(FILE *file, const struct cr_curve *c, crescent_loss point)
{
    if (is_shown(c, point.loss))
        fprintf(file, "%.9g %.9g\n", point.step, point.loss);
    else
        fprintf(file, "\n");
}

static void print_points(FILE *file, const struct cr_curve *c)
{
    static const char *const names[] = {
        [CRESCENT_STEP_LOSSES] = "losses", [CRESCENT_VALIDATION_LOSSES] = "validations"};
    for (int kind = 0; kind <= CRESCENT_VALIDATION_LOSSES; kind++) {
        fprintf(file, "$%s << END\n", names[kind]);
        for (int i = 0; i < crescent_loss_count(c->trainer, (crescent_loss_kind)kind); i++)
            print_point(file, c, loss_at(c, (crescent_loss_kind)kind, i));
        fprintf(file, "END\n");
    }
}

/* Prints a title in double quotes; characters special to gnuplot become '?'. */
static void print_title(FILE *file, const char *title)
{
    fprintf(file, "set title \"");
    for (; *title; title++)
        fputc(strchr("\"\\`", *title) || (unsigned char)*title < ' ' ? '?' : *title, file);
    fprintf(file, "\" noenhanced\n");
}

/* Prints the data, the axes and the plot command in gnuplot's language. */
static void print_script(FILE *file, const struct cr_curve *c, const char *path)
{
    int64_t first = 0, last = 0;
    bool validated = has_shown(c, CRESCENT_VALIDATION_LOSSES);
    bool floating = c->logarithmic || goes_below_zero(c, CRESCENT_STEP_LOSSES) ||
                    goes_below_zero(c, CRESCENT_VALIDATION_LOSSES);
    crescent_loss_range(c->trainer, &first, &last);
    print_points(file, c);
    print_title(file, c->title);
    set_terminal(file, path);
    fprintf(file,
            "set grid linecolor rgb '#dddddd' linewidth 1\n"
            "set border linecolor rgb '#777777'\n"
            "set xlabel 'step'\nset ylabel 'loss'\n%sset yrange [%s:*]\n"
            "set xrange [%" PRId64 ":%" PRId64 "]\n"
            "plot $losses with lines linecolor rgb '#4682b4' linewidth 2 %s",
            c->logarithmic ? "set logscale y\n" : "", floating ? "*" : "0", first, last,
            validated ? "title 'training'" : "notitle");
    if (validated)
        fprintf(file, ", $validations with linespoints linecolor rgb '#d2691e' linewidth 2 "
                      "pointtype 7 pointsize 0.5 title 'validation'");
    fprintf(file, "\n");
}

/* ---- the picture ---- */

/* True if the bytes end like a complete picture, since gnuplot's exit status does not tell. */
static bool is_whole(const char *path, const char *bytes, size_t size)
{
    static const char svg[] = "</svg>", png[] = "IEND\xae\x42\x60\x82";
    bool vector = strcmp(terminal_of(path), "svg") == 0;
    const char *end = vector ? svg : png;
    size_t length = strlen(end);
    while (vector && size && (bytes[size - 1] == '\n' || bytes[size - 1] == ' '))
        size--;
    return size >= length && memcmp(bytes + size - length, end, length) == 0;
}

/* Copies the picture from memory to the user's file. */
static int write_picture(const struct cr_curve *c, int picture, const char *path,
                         struct cr_error *error)
{
    crescent_file *file = NULL;
    struct stat status = {0};
    bool some = fstat(picture, &status) == 0 && status.st_size > 0;
    size_t size = (size_t)status.st_size;
    char *bytes = some ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, picture, 0) : MAP_FAILED;
    if (bytes == MAP_FAILED)
        return cr_fail(error, "%.400s: gnuplot drew nothing, expected a picture", path);
    int result = -1;
    if (!is_whole(path, bytes, size)) {
        cr_fail(error, "%.400s: gnuplot's picture is cut short, expected a whole one", path);
    } else {
        result = crescent_file_open(c->options->context, path, &file) ||
                 crescent_file_put(file, bytes, size) || crescent_file_commit(file);
        cr_passed(c->options, result, error);
        crescent_file_close(file);
    }
    munmap(bytes, size);
    return result ? -1 : 0;
}

int cr_curve_draw(const struct cr_curve *c, const char *path, struct cr_error *error)
{
    FILE *script = memory_file(error), *picture = script ? memory_file(error) : NULL;
    int status = -1;
    if (picture) {
        print_script(script, c, path);
        status = rewind_script(script, error);
    }
    if (!status && gnuplot(fileno(script), fileno(picture)) != 0)
        status = cr_fail(error, "%.400s: gnuplot failed, expected it to draw the picture", path);
    if (!status)
        status = write_picture(c, fileno(picture), path, error);
    if (picture)
        fclose(picture);
    if (script)
        fclose(script);
    return status;
}
