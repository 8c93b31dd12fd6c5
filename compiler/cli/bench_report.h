/* bench_report.h - prints the results of a bench as text, JSON and Markdown. */
#ifndef CR_BENCH_REPORT_H
#define CR_BENCH_REPORT_H

#include "bench.h"

/* Prints the whole report in the format that the options choose.  Sorts the samples. */
void cr_bench_report(struct cr_bench *bench);

/* Prints compile times and sizes of memory, which are known before the first run. */
void cr_bench_report_compilation(struct cr_bench *bench);

/* Prints the latest round of a bench with --alternate as one line of JSON. */
void cr_bench_report_round(struct cr_bench *bench);

#endif
