/**
 * Options for the services. Streams produce short-lived buffers, which V8 13.6 (Node 24) frees only in full
 * collections, one per 64 MiB of throughput. Those make up half of a stream's cost (nodejs/node#61967). A smaller young
 * generation frees the buffers in fast collections, one per 16 MiB. Sweeping must not be concurrent: on a busy machine
 * the sweeper falls behind, and full collections return.
 */
export const NODE_OPTIONS = [
  '--scavenger-max-new-space-capacity-mb=4',
  '--no-concurrent-array-buffer-sweeping',
] as const
