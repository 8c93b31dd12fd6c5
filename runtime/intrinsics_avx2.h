/*
 * intrinsics_avx2.h - declares the intrinsics of AVX2, for files without AVX-512.
 *
 * gcc takes half a second to parse <immintrin.h>, and two thirds of it are for AVX-512.  The
 * headers for AVX2 refuse to be included unless a macro tells them that <immintrin.h> includes
 * them.
 */
#ifndef CR_INTRINSICS_AVX2_H
#define CR_INTRINSICS_AVX2_H

#if defined(_IMMINTRIN_H_INCLUDED) || defined(__clang__) || defined(__INTEL_COMPILER) || \
    defined(__EDG__) || __GNUC__ < 9 || __GNUC__ > 14
#include <immintrin.h>
#else
#define _IMMINTRIN_H_INCLUDED
#include <smmintrin.h>
#include <avxintrin.h>
#include <avx2intrin.h>
#include <fmaintrin.h>
#include <f16cintrin.h>
#undef _IMMINTRIN_H_INCLUDED
#endif

#endif
