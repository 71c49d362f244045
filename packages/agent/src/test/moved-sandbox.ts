import { randomUUID } from 'node:crypto'
import type { MovedSandbox } from '@offshoot/contract/move-stream'

/** What a stream says of a sandbox. */
export function movedSandbox(change: Partial<MovedSandbox> = {}): MovedSandbox {
  return {
    id: randomUUID(),
    workspace_id: randomUUID(),
    template: 'base',
    created_at: '2026-11-21T00:00:00.000Z',
    cpu: 1,
    memory_mb: 64,
    guest_ip: null,
    boot_ms: 1,
    boot_mode: 'snapshot',
    from_snapshot: null,
    parent_id: null,
    fork_tree_id: null,
    persistent: false,
    idle_timeout_seconds: 600,
    run_as: {},
    egress: 'none',
    visibility: 'public',
    limits: null,
    ...change,
  }
}
