import type { EventType } from '@offshoot/contract/event'

type StatusAfter = 'running' | 'paused' | 'hibernated' | 'failed' | 'removed'

/** What each event leaves a sandbox's row at; `null` where it changes none. */
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
  // Never in a log: it is said to one reader.
  'events.dropped': null,
}
