/**
 * Upgrade protocol of `GET /v1/sandboxes/{id}/ports/{port}/stream`. After the 101, the connection carries the bytes of
 * a TCP connection to that port in the sandbox. Each direction can end alone. The agent wakes a hibernated sandbox
 * first.
 */
export const PORT_STREAM_PROTOCOL = 'offshoot-tcp'

/**
 * Header of the edge's request for a port stream: the edge has admitted the visitor. Without it the agent refuses a
 * private sandbox with 403.
 */
export const ADMITTED_HEADER = 'x-offshoot-admitted'
