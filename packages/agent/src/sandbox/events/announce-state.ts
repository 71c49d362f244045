import type { EventType } from '@offshoot/contract/event'
import { announce, type HostStore } from '../model/host.ts'
import type { Manifest } from '../../store/sandboxes/manifest.ts'
import type { Sandbox } from '../model/sandbox.ts'

type Draft = Parameters<typeof announce>[2]

/** The status that each event implies. */
const STATES = new Map<EventType, Manifest['status']>([
  ['sandbox.running', 'running'],
  ['sandbox.resumed', 'running'],
  ['sandbox.woken', 'running'],
  ['sandbox.paused', 'paused'],
  ['sandbox.hibernated', 'hibernated'],
])
const TYPES = new Set(STATES.keys())

/** Announces a new sandbox: `sandbox.running`, and `sandbox.forked` for a fork. */
export async function announceBirth(store: HostStore, sandbox: Sandbox, manifest: Manifest): Promise<void> {
  const { boot_ms, boot_mode, guest_ip, from_snapshot, parent_id, template, cpu, memory_mb, visibility } = manifest
  const running: Draft = {
    type: 'sandbox.running',
    message: `sandbox is running after ${boot_ms} ms`,
    // Billing needs the size, even if control has deleted the row by the time it reads this event.
    metadata: { boot_ms, boot_mode, from_snapshot, warm: false, guest_ip, template, cpu, memory_mb, visibility },
  }
  const forked: Draft = { type: 'sandbox.forked', message: 'sandbox was forked', metadata: { parent_id } }
  const drafts = parent_id === null ? [running] : [running, forked]
  await Promise.all(drafts.map((draft) => announce(store, sandbox, draft)))
}

export const pausedDraft: Draft = { type: 'sandbox.paused', message: 'sandbox is paused', metadata: {} }
export const resumedDraft: Draft = { type: 'sandbox.resumed', message: 'sandbox is running again', metadata: {} }

/** @param figures `null` if an earlier agent measured them and was killed before the event */
export function hibernatedDraft(figures: { readonly snapMs: number; readonly memMib: number } | null): Draft {
  const { snapMs = null, memMib = null } = figures ?? {}
  return { type: 'sandbox.hibernated', message: 'sandbox is on disk', metadata: { snap_ms: snapMs, mem_mib: memMib } }
}

export interface WokenFigures {
  /** `null` if an earlier agent measured it and was killed before the event. */
  readonly wokenMs: number | null
  readonly guestIp: string | null
  readonly isCold: boolean
  /** Why the memory is lost; `null` if there was none to lose. */
  readonly lost: string | null
}

export function wokenDraft({ wokenMs, guestIp, isCold, lost }: WokenFigures): Draft {
  const metadata = { wake_ms: wokenMs, guest_ip: guestIp, ...(isCold ? { cold: true } : {}) }
  if (!isCold) return { type: 'sandbox.woken', message: 'sandbox runs again from disk', metadata }
  const loss = lost === null ? '' : `: what was in memory is lost (${lost})`
  return { type: 'sandbox.woken', message: `sandbox was booted from its disk${loss}`, metadata }
}

/** Whether a sandbox is hibernated according to the last event about its state, or may be because that event is unknown. */
export function mayHibernate({ events }: Sandbox): boolean {
  const last = events.lastOf(TYPES)
  return last === undefined ? events.last > 0 : last === 'sandbox.hibernated'
}

/** Announces the status of a sandbox if its last event implies another one: the agent was killed between change and event. */
export async function announceState(store: HostStore, sandbox: Sandbox): Promise<void> {
  const last = sandbox.events.lastOf(TYPES)
  const { status, move } = sandbox.manifest
  if (move?.direction === 'arriving') return
  // No state event in memory: newer events have displaced it, and it was correct when they were written.
  if (last === undefined ? sandbox.events.last > 0 : STATES.get(last) === status) return
  if (last === undefined && status === 'running') return announceBirth(store, sandbox, sandbox.manifest)
  const draft = missingDraft(sandbox.manifest, last)
  if (draft !== null) await announce(store, sandbox, draft)
}

function missingDraft({ status, guest_ip }: Manifest, last: EventType | undefined): Draft | null {
  if (status === 'paused') return pausedDraft
  if (status === 'hibernated') return hibernatedDraft(null)
  if (status !== 'running') return null
  return last === 'sandbox.hibernated'
    ? wokenDraft({ wokenMs: null, guestIp: guest_ip, isCold: false, lost: null })
    : resumedDraft
}
