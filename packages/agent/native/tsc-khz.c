/*
 * Prints the speed of the host's time-stamp counter in kHz: a tenth of a second of rdtsc against the raw monotonic clock.
 * A guest under software emulation is told it on its kernel command line; see vm/machine.ts.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static int64_t raw_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(void)
{
	const struct timespec tenth = { .tv_sec = 0, .tv_nsec = 100000000 };
	const int64_t start_ns = raw_ns();
	const uint64_t start = __rdtsc();

	nanosleep(&tenth, NULL);
	const int64_t end_ns = raw_ns();
	const uint64_t end = __rdtsc();

	printf("%llu\n", (unsigned long long)((double)(end - start) * 1e6 / (double)(end_ns - start_ns)));
	return 0;
}
