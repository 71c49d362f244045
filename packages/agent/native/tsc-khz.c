/*
 * Prints the speed of the host's time-stamp counter in kHz: a tenth of a second of rdtsc against the raw monotonic clock.
 * A guest under software emulation is told it on its kernel command line; see machine/vm/machine.ts.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define TRIES 64

struct sample {
	int64_t ns;
	uint64_t ticks;
};

static int64_t raw_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Both clocks at one instant: of several readings the one least time passed in, as another process may come between. */
static struct sample read_both(void)
{
	struct sample best = { 0 };
	int64_t least_ns = INT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		const int64_t before_ns = raw_ns();
		const uint64_t ticks = __rdtsc();
		const int64_t passed_ns = raw_ns() - before_ns;

		if (passed_ns >= least_ns)
			continue;
		least_ns = passed_ns;
		best = (struct sample){ .ns = before_ns + passed_ns / 2, .ticks = ticks };
	}
	return best;
}

int main(void)
{
	const struct timespec tenth = { .tv_sec = 0, .tv_nsec = 100000000 };
	const struct sample start = read_both();

	nanosleep(&tenth, NULL);
	const struct sample end = read_both();

	printf("%llu\n", (unsigned long long)((double)(end.ticks - start.ticks) * 1e6 / (double)(end.ns - start.ns)));
	return 0;
}
