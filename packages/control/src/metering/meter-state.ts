import type { EventType } from '@offshoot/contract/event'

/** What a meter measures at the time. `storage` is volumes beyond the plan; `ended` costs nothing. */
export type MeterState = 'running' | 'paused' | 'hibernated' | 'storage' | 'ended'

/** What each event leaves a sandbox's meter at; `null` where it changes none. */
export const STATE_AFTER: Readonly<Record<EventType, MeterState | null>> = {
  'sandbox.running': 'running',
  'sandbox.ssh_ready': null,
  'sandbox.paused': 'paused',
  'sandbox.resumed': 'running',
  'sandbox.hibernated': 'hibernated',
  'sandbox.woken': 'running',
  'sandbox.deleted': 'ended',
  'sandbox.forked': null,
  'sandbox.warmforked': null,
  'fork.staged': null,
  'fork.completed': null,
  'fork.child_failed': null,
  'fork_tree.completed': null,
  'fork_tree.promoted': null,
  'warmfork.staged': null,
  'vm.died': 'ended',
  'recover.orphaned': 'ended',
  'recover.unmanaged': null,
  'sandbox.port_opened': null,
  'sandbox.port_closed': null,
  'events.dropped': null,
}
