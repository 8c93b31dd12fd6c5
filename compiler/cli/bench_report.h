/* bench_report.h - a bench as text, JSON and Markdown. */
#ifndef CR_BENCH_REPORT_H
#define CR_BENCH_REPORT_H

#include "bench.h"

/* Prints it all; samples are sorted on the way. */
void cr_bench_report(struct cr_bench *bench);

/* Prints what is known before anything ran: times of compiling, and sizes. */
void cr_bench_report_compilation(struct cr_bench *bench);

/* Prints the latest round as one line of JSON. */
void cr_bench_report_turn(struct cr_bench *bench);

#endif
