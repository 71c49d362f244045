import type { EventType } from '@offshoot/contract/event'

type StatusAfter = 'running' | 'paused' | 'hibernated' | 'failed' | 'removed'

/** The status of a sandbox's row after each event; `null` if the event changes none. */
export const STATUS_AFTER: Readonly<Record<EventType, StatusAfter | null>> = {
  'sandbox.running': 'running',
  'sandbox.ssh_ready': null,
  'sandbox.paused': 'paused',
  'sandbox.resumed': 'running',
  'sandbox.hibernated': 'hibernated',
  'sandbox.woken': 'running',
  'sandbox.deleted': 'removed',
  'sandbox.forked': null,
  'sandbox.warmforked': null,
  'fork.staged': null,
  'fork.completed': null,
  'fork.child_failed': null,
  'fork_tree.completed': null,
  'fork_tree.promoted': null,
  'warmfork.staged': null,
  'vm.died': 'failed',
  'recover.orphaned': 'failed',
  'recover.unmanaged': null,
  'sandbox.port_opened': null,
  'sandbox.port_closed': null,
  'sandbox.visibility_changed': null,
  // Never in a log: control reports it.
  'sandbox.timeout_failed': null,
  // Never in a log: the agent sends it only to a reader of a stream.
  'events.dropped': null,
}
