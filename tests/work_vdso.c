/* SPDX-License-Identifier: Apache-2.0 */
/* work_vdso SECONDS: reads the clock in a tight loop; nearly all of its time is spent in
 * the vDSO. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) static void read_clock_many_times(struct timespec *ts)
{
	for (int i = 0; i < 1000; i++)
		clock_gettime(CLOCK_MONOTONIC, ts);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	struct timespec ts;

	do {
		read_clock_many_times(&ts);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	} while ((double)ts.tv_sec + (double)ts.tv_nsec / 1e9 < seconds);
	return 0;
}
