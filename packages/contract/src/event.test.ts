import { expect, it } from 'vitest'
import { event, eventCode } from './event.ts'

/** The catalog of the specification. Events beyond it are listed with their codes. */
const specified = {
  ok: [
    'sandbox.running',
    'sandbox.ssh_ready',
    'sandbox.paused',
    'sandbox.resumed',
    'sandbox.hibernated',
    'sandbox.woken',
    'sandbox.deleted',
    'sandbox.forked',
    'sandbox.warmforked',
    'fork.staged',
    'fork.completed',
    'fork_tree.completed',
    'fork_tree.promoted',
    'warmfork.staged',
  ],
  error: ['vm.died', 'fork.child_failed'],
  warn: ['recover.orphaned', 'recover.unmanaged', 'events.dropped'],
} as const

it('has every type of the catalog with its code, and no other', () => {
  for (const [code, types] of Object.entries(specified)) {
    for (const type of types) expect([type, eventCode(type)]).toEqual([type, code])
  }
  const own = ['sandbox.port_opened', 'sandbox.port_closed', 'sandbox.timeout_failed', 'sandbox.visibility_changed']
  const all = [...Object.values(specified).flat(), ...own]
  expect(event.shape.type.options.toSorted((a, b) => a.localeCompare(b))).toEqual(
    all.toSorted((a, b) => a.localeCompare(b)),
  )
})
