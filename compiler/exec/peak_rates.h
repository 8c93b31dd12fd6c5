/* peak_rates.h - loops that reach the peak rate of the floating-point units and of the memory. */
#ifndef CR_PEAK_RATES_H
#define CR_PEAK_RATES_H

/* Runs some milliseconds of the widest float32 fused multiply-adds the machine has, on the calling
 * thread. Returns the number of floating-point operations done, two for each element. */
double cr_peak_work(void);

/* Does the same with exact 8-bit products, by the instruction that int8 products use at this level
 * of the runtime, which the machine must have; or with bf16: AMX at that level, else float32
 * fma. */
double cr_peak_products(const char *isa, int bf16);

enum { CR_READ_STEP = 512 /* bytes */ };

/* Reads `steps` times CR_READ_STEP bytes, aligned to 64, with the widest loads the machine has. */
void cr_read_work(const void *buffer, long steps);

#endif
