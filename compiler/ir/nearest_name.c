/* nearest_name.c - suggests a name for a mistyped word; see nearest_name.h. */
#include "nearest_name.h"

#include <stdio.h>
#include <string.h>

enum { MAX_WORD = 96, LEAST_COMMON = 3 };

static int smallest(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Returns the edit distance of two words: insertions, deletions, changes and swaps of neighbours
 * (Damerau 1964). */
static int distance(const char *a, int n, const char *b, int m)
{
    int d[3][MAX_WORD + 1]; /* the last row of distances but one, the last row, this row */
    for (int j = 0; j <= m; j++)
        d[1][j] = j;
    for (int i = 1; i <= n; i++) {
        d[2][0] = i;
        for (int j = 1; j <= m; j++) {
            d[2][j] = smallest(d[1][j] + 1, d[2][j - 1] + 1, d[1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[2][j] = smallest(d[2][j], d[0][j - 2] + 1, d[2][j]);
        }
        memcpy(d[0], d[1], sizeof d[0]);
        memcpy(d[1], d[2], sizeof d[1]);
    }
    return d[1][m];
}

/* Returns the shortest name of which `word` is a prefix or that is a prefix of `word`: "epsilon"
 * for "eps".  Returns null if there is none. */
static const char *abbreviation(const char *word, const char *const *names, int n)
{
    const char *best = NULL;
    for (int i = 0; i < n; i++) {
        size_t length = strlen(word), other = names[i] ? strlen(names[i]) : 0;
        size_t common = length < other ? length : other;
        if (common >= LEAST_COMMON && strncmp(word, names[i], common) == 0 && length != other &&
            (!best || other < strlen(best)))
            best = names[i];
    }
    return best;
}

const char *cr_nearest(const char *word, const char *const *names, int n)
{
    size_t length = strlen(word);
    const char *best = NULL;
    int least = (int)(length > MAX_WORD ? 0 : 1 + length / 3) + 1;
    for (int i = 0; i < n && length <= MAX_WORD; i++) {
        size_t other = names[i] ? strlen(names[i]) : MAX_WORD + 1;
        if (other > MAX_WORD)
            continue;
        int d = distance(word, (int)length, names[i], (int)other);
        if (d < least && d < (int)other) {
            least = d;
            best = names[i];
        }
    }
    return best || length > MAX_WORD ? best : abbreviation(word, names, n);
}

char *cr_did_you_mean(char *buf, size_t size, const char *word, const char *const *names, int n)
{
    const char *near = cr_nearest(word, names, n);
    snprintf(buf, size, "%s%s%s", near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
    return buf;
}
