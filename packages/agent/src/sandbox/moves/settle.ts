import type { SettleOutcome } from '@offshoot/contract/agent-move'
import { ApiError } from '@offshoot/contract/errors'
import { NEWER_FORMAT, writeManifest } from '../../store/sandboxes/manifest.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { departSandbox } from '../lifecycle/depart.ts'
import { giveUpSandbox } from '../lifecycle/give-up.ts'

/**
 * Ends a move on this host, or gives up what another host has taken over. Repeatable.
 * @throws ApiError 409 if another move is under way, or none and the sandbox is to go; or if the host may run the sandbox
 */
export async function settleMove(
  host: Host,
  sandbox: Sandbox,
  { moveId, outcome }: { readonly moveId: string; readonly outcome: SettleOutcome },
): Promise<void> {
  if (outcome === 'taken') return giveUpSandbox(host, sandbox)
  const { move } = sandbox.manifest
  if (move !== undefined && move.id !== moveId) throw new ApiError('sandboxMoving', { detail: 'by another move' })
  if (outcome === 'stay') return stay(host, sandbox, moveId)
  if (move === undefined) throw new ApiError('conflict', { detail: 'the sandbox is not moving' })
  await departSandbox(host, sandbox, move.direction === 'leaving' ? 'moved' : 'cancelled')
}

async function stay(host: Host, sandbox: Sandbox, moveId: string): Promise<void> {
  await sandbox.changeMove(async () => {
    const { move, ...rest } = sandbox.manifest
    if (move === undefined) return
    if (move.id !== moveId) throw new ApiError('sandboxMoving', { detail: 'by another move' })
    // Its memory may have bases, or be compressed.
    const manifest = { ...rest, format: NEWER_FORMAT } as const
    await writeManifest(host.store.dir.sandbox(sandbox.id), manifest)
    sandbox.manifest = manifest
  })
}
