/* vector_end.h - undefines the macros of a vector_*.h, so that the next one can be included. */
#undef CR_ISA
#undef CR_LEVELS /* only for vnni, amx */
#undef CR_NAME
#undef VF
#undef VS
#undef CR_W
#undef CR_MOST_ROWS
#undef CR_TILE_VECTORS
#undef CR_BESIDE
#undef CR_TILES_1
#undef CR_TILES_2
#undef CR_TILES_3
#undef CR_TILES_4
#undef CR_HALF_VECTORS /* only for bf16, f16 */
#undef CR_HALF_TILES /* only for bf16, f16 */
#undef CR_READ_AGAIN /* only for bf16, f16 */
#undef CR_HALF_TILE /* only for bf16, f16 */
#undef v_number
#undef v_fma_by
#undef v_fma_into
#undef v_load
#undef v_words /* only for bf16 */
#undef v_high /* only for bf16 */
#undef v_load_low /* only for bf16 */
#undef v_load_high /* only for bf16 */
#undef v_load_f16 /* only for f16, q8, q4 */
#undef v_store
#undef v_stream
#undef v_stream_end
#undef v_set1
#undef v_fma
#undef v_min
#undef v_max
#undef v_smaller
#undef v_larger
#undef v_at_most
#undef v_at_least
#undef v_nan_or
#undef v_ordered_or
#undef v_and
#undef v_or
#undef v_first
#undef v_load_n
#undef v_load_or
#undef v_store_n
#undef v_copysign
#undef v_if_negative
#undef v_pow2
#undef v_scale
#undef v_split
#undef v_fold
#undef v_lane0
#undef v_transpose
#undef CR_ONE
#undef CR_FLOAT
#undef CR_ABS
#undef CR_SQRT
#undef CR_EXP
#undef CR_LOG /* only for log */
#undef CR_TANH /* only for tanh */
#undef CR_ERF /* only for erf */
#undef CR_SIGMOID /* only for sigmoid, mul_sigmoid */
#undef CR_FMA
#undef CR_MAX
#undef CR_MIN
#undef CR_TOP
#undef CR_BOTTOM
#undef CR_LOWEST
#undef CR_HIGHEST
#undef CR_LT
#undef CR_LE
#undef CR_EQ
#undef CR_SELECT
#ifdef CR_TARGET
#undef CR_TARGET
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
