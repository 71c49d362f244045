import { setTimeout as wait } from 'node:timers/promises'
import type { AgentFork, ForkOnAgentBody } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, SnapshotId } from '@offshoot/contract/ids'
import type { CapturedSandbox } from '../model/capture-options.ts'
import { showSnapshot, type SnapshotRecord } from '../../store/snapshots/snapshot-record.ts'
import { type PrestartedChild, endPrestartedChild, prestartChild } from '../start/prestarted-child.ts'
import { createSandbox } from '../lifecycle/create.ts'
import { announce, type Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { seedOfSnapshot } from '../pool/seed.ts'
import { stageSnapshot } from './stage-snapshot.ts'
import { ownerOf, sealSnapshot, snapshotOf } from './take-snapshot.ts'

/** A parent with more bytes of private memory takes a while to hash and to write. */
const LARGE_BYTES = 64 * 1024 * 1024
/**
 * Milliseconds before the agent writes the checkpoint of such a parent. Meanwhile its children have the disk to themselves: a
 * database commits its new identity, and an app gives its first answer.
 */
const SEAL_AFTER_MS = 3_000

type Child = ForkOnAgentBody['children'][number]
type ChildError = AgentFork['errors'][number]

interface Staged {
  readonly captured: CapturedSandbox
  /** For the first child. Ended if that does not take it. */
  readonly prestarted: PrestartedChild | null
  readonly record: SnapshotRecord
}

/**
 * Forks a sandbox, which stays running, paused or hibernated. The children share its memory and disk until they write. They
 * start concurrently, and a child that fails does not affect the others.
 *
 * The first child's QEMU starts during the capture. More of them would slow down the capture, for which the parent is stopped.
 * The agent makes the checkpoint durable after the children run: a power cut ends these anyway.
 * @throws ApiError 402 credit spent, 404, 409 id taken, 507 no room on the disk; then there is neither snapshot nor child
 */
export async function forkSandbox(host: Host, parent: Sandbox, body: ForkOnAgentBody): Promise<AgentFork> {
  host.store.credit.refuseIfSpent(parent.workspaceId)
  // For all children at once: none is refused because of what the capture took.
  await host.store.room.admit('sandbox')
  const { staged, seal } = await stageFork(host, parent, body)
  const outcomes = await Promise.all(
    body.children.map((child, at) =>
      forkChild(host, parent, { ...staged, prestarted: at === 0 ? staged.prestarted : null }, body, child),
    ),
  ).finally(seal)
  const children = outcomes.flatMap((outcome) => ('sandbox' in outcome ? [outcome.sandbox] : []))
  const errors = outcomes.flatMap((outcome) => ('sandbox' in outcome ? [] : [outcome]))
  if (body.tree_id !== undefined) {
    await tell(host, parent, {
      type: 'fork_tree.completed',
      message: `${children.length} of ${outcomes.length} children are running`,
      metadata: { tree_id: body.tree_id, completed: children.length, failed: errors.length },
    })
  }
  return {
    snapshot: showSnapshot(staged.record),
    children: children.map((child) => child.show(host.store.events.position(child.id)?.seq ?? 0)),
    errors,
  }
}

/** Captures the parent for its children. @returns also `seal`, which lets the agent complete the snapshot in the background */
async function stageFork(
  host: Host,
  parent: Sandbox,
  { snapshot_id, children }: ForkOnAgentBody,
): Promise<{ staged: Staged; seal: () => void }> {
  const staged = Promise.withResolvers<Staged>()
  const childrenDone = Promise.withResolvers<void>()
  const id = snapshot_id as SnapshotId
  host.store.snapshots
    .make(id, ownerOf(parent), async (folder, draft) => {
      const isCaptured = new AbortController()
      let starting: Promise<PrestartedChild | null> = Promise.resolve(null)
      const captured = await stageSnapshot(host, parent, folder, {
        onBegin: (vm, bases) => {
          starting = prestartChild(host, parent, { vm, checkpoint: folder, bases, captured: isCaptured.signal })
        },
        onStaged: ({ layers, pausedMs }) => {
          isCaptured.abort()
          draft.layers = layers
          const message = `captured for ${children.length} ${children.length === 1 ? 'child' : 'children'}`
          const metadata = { snapshot_id, pause_ms: Math.round(pausedMs), count: children.length }
          void tell(host, parent, { type: 'fork.staged', message, metadata })
        },
      }).catch(async (error: unknown) => {
        await endPrestartedChild(host.platform, await starting)
        throw error
      })
      const record = snapshotOf(parent, captured, id, 'fork')
      draft.shown = record
      staged.resolve({ captured, record, prestarted: await starting })
      await childrenDone.promise
      if (captured.memoryBytes > LARGE_BYTES) await wait(SEAL_AFTER_MS)
      return sealSnapshot(host, parent, captured, record)
    })
    .catch((error: unknown) => {
      staged.reject(error)
      host.log.warn({ err: error, sandbox_id: parent.id, snapshot_id }, 'snapshot of a fork not kept')
    })
  return { staged: await staged.promise, seal: childrenDone.resolve }
}

async function forkChild(
  host: Host,
  parent: Sandbox,
  { captured, record, prestarted }: Staged,
  { tree_id, visibility = parent.manifest.visibility, limits: asked }: ForkOnAgentBody,
  { id, index }: Child,
): Promise<{ sandbox: Sandbox } | ChildError> {
  const { persistent, idle_timeout_seconds, egress } = parent.manifest
  const limits = asked ?? parent.manifest.limits
  try {
    const sandbox = await createSandbox(host, {
      id: id as SandboxId,
      workspaceId: parent.workspaceId,
      seed: seedOfSnapshot(record, captured, 'fork'),
      env: 'keep',
      settings: { persistent, idle_timeout_seconds, egress, visibility, limits },
      lineage: { parent_id: parent.id, fork_tree_id: tree_id ?? null },
      prestarted,
    })
    await Promise.all([
      tell(host, parent, { type: 'sandbox.forked', message: 'sandbox has a child', metadata: { child_id: id } }),
      tell(host, parent, { type: 'fork.completed', message: 'child is running', metadata: { child_id: id } }),
    ])
    return { sandbox }
  } catch (cause) {
    const { status, body } = cause instanceof ApiError ? cause : new ApiError('internal', {}, { cause })
    const { error } = body
    await tell(host, parent, { type: 'fork.child_failed', message: error, metadata: { index, error } })
    return { index, id, error, status }
  } finally {
    await endPrestartedChild(host.platform, prestarted)
  }
}

/** Logs an event of the parent, unless that is being deleted: its end is its last event. A failure does not undo a fork. */
async function tell(host: Host, parent: Sandbox, draft: Parameters<typeof announce>[2]): Promise<void> {
  if (parent.leaving.signal.aborted || host.sandboxes.get(parent.id) !== parent) return
  await announce(host.store, parent, draft).catch((error: unknown) =>
    host.log.error({ err: error, sandbox_id: parent.id, type: draft.type }, 'event not logged'),
  )
}
