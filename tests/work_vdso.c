/* SPDX-License-Identifier: Apache-2.0 */
/* work_vdso SECONDS: reads the clock in a tight loop; nearly all of its time is spent in the vDSO. */
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
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end.tv_sec = now.tv_sec + (time_t)seconds;
	end.tv_nsec = now.tv_nsec;
	do {
		read_clock_many_times(&now);
	} while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	return 0;
}
