/**
 * How Node runs our services. Streams pass through them in short-lived buffers, which V8 13.6 (Node 24) leaves to full collections of
 * the heap, one for every 64 MiB that pass: half of what a stream then costs (nodejs/node#61967). A smaller young generation frees them
 * with its own quick collections, one every 16 MiB, and at once: a thread that sweeps beside us falls behind on a busy machine, and the
 * full collections are back.
 */
export const NODE_OPTIONS = [
  '--scavenger-max-new-space-capacity-mb=4',
  '--no-concurrent-array-buffer-sweeping',
] as const
