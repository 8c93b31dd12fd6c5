/*
 * emulated_tiles.h - the runtime once more, with the tiles of AMX done in plain C, so that what uses
 * them is tested where there are none.  It needs AVX512_VNNI all the same.
 */
#ifndef CR_EMULATED_TILES_H
#define CR_EMULATED_TILES_H

#include <assert.h>
#include <string.h>

/* As the instructions have it in memory. */
struct tile_configuration {
    unsigned char palette, start_row, reserved[14];
    unsigned short bytes[16];
    unsigned char rows[16];
};

static struct {
    struct tile_configuration is;
    signed char data[8][16][64];
} tiles;

static void configure_tiles(const void *configuration)
{
    memcpy(&tiles.is, configuration, sizeof tiles.is);
    memset(tiles.data, 0, sizeof tiles.data);
    assert(tiles.is.palette == 1 && !tiles.is.start_row);
    for (int i = 0; i < 16; i++)
        assert(tiles.is.rows[i] <= (i < 8 ? 16 : 0) && tiles.is.bytes[i] <= (i < 8 ? 64 : 0));
}

static void load_tile(int tile, const void *from, long stride)
{
    assert(tiles.is.palette);
    memset(tiles.data[tile], 0, sizeof tiles.data[tile]);
    for (int r = 0; from && r < tiles.is.rows[tile]; r++)
        memcpy(tiles.data[tile][r], (const char *)from + r * stride, tiles.is.bytes[tile]);
}

static void store_tile(int tile, void *to, long stride)
{
    for (int r = 0; r < tiles.is.rows[tile]; r++)
        memcpy((char *)to + r * stride, tiles.data[tile][r], tiles.is.bytes[tile]);
}

/* Rows of bytes with a sign by columns of bytes without, four k at a time. */
static void dot_tiles(int c, int a, int b)
{
    assert(tiles.is.rows[c] == tiles.is.rows[a] && tiles.is.bytes[c] == tiles.is.bytes[b] &&
           tiles.is.bytes[a] == 4 * tiles.is.rows[b]);
    for (int r = 0; r < tiles.is.rows[c]; r++)
        for (int col = 0; col < tiles.is.bytes[c]; col += 4) {
            int sum;
            memcpy(&sum, &tiles.data[c][r][col], sizeof sum);
            for (int k = 0; k < tiles.is.bytes[a]; k++)
                sum += tiles.data[a][r][k] * (unsigned char)tiles.data[b][k / 4][col + k % 4];
            memcpy(&tiles.data[c][r][col], &sum, sizeof sum);
        }
}

#define CR_TILES
#define t_configure(p) configure_tiles(p)
#define t_release() ((void)(tiles.is.palette = 0))
#define t_zero(tile) load_tile(tile, NULL, 0)
#define t_load(tile, p, stride) load_tile(tile, p, stride)
#define t_store(tile, p, stride) store_tile(tile, p, stride)
#define t_dot(sum, a, b) dot_tiles(sum, a, b)

#define cr_runtime_select cr_emulated_select
#include "runtime/runtime.c"
#undef cr_runtime_select
const struct cr_runtime *cr_runtime_select(const char *isa);

/* Null where there is no AVX512_VNNI, or no compiler for it. */
static const struct cr_runtime *emulated_amx(void)
{
#if CR_AMX
    return cr_runtime_select("vnni") ? &cr_runtime_amx : NULL;
#else
    (void)configure_tiles, (void)store_tile, (void)dot_tiles;
    return NULL;
#endif
}

#endif
