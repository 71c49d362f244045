import { link, mkdir } from 'node:fs/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { capture, type Captured } from '../checkpoints/capture.ts'
import { checkpointFiles } from '../checkpoints/checkpoint-files.ts'
import { captureOptions } from './capture-options.ts'
import type { Host } from './host.ts'
import { refusal } from './refusal.ts'
import type { Sandbox } from './sandbox.ts'
import { vmIn } from './stopping.ts'

/** Milliseconds to write a checkpoint: gigabytes to a slow disk. */
const CAPTURE_MS = 300_000

/**
 * Puts memory, devices and disk of one instant of a sandbox into a folder, which it makes. The sandbox stays what it is:
 * running, paused or hibernated.
 * @param onStaged in the same turn, before anything else happens to the sandbox
 * @throws ApiError 404, 507 no room on the disk
 */
export async function stageSnapshot(
  host: Host,
  sandbox: Sandbox,
  folder: string,
  onStaged: (captured: Captured) => void,
): Promise<Captured> {
  // What it had in memory is gone: it is to have some again first.
  if (sandbox.manifest.cold) await sandbox.wake()
  return sandbox.change(async (cancelled) => {
    const deadline = Deadline.after(CAPTURE_MS, `checkpoint of ${sandbox.id}`, cancelled)
    const isHibernated = sandbox.manifest.status === 'hibernated'
    const stage = isHibernated ? linkHibernation : captureVm
    try {
      const captured = await host.gates.captures.run(() => stage(host, sandbox, folder, deadline), cancelled)
      onStaged(captured)
      return captured
    } catch (error) {
      throw await refusal(host, sandbox, 'sandbox could not be captured', error)
    }
  })
}

async function captureVm(host: Host, sandbox: Sandbox, folder: string, deadline: Deadline): Promise<Captured> {
  const vm = vmIn(sandbox, 'running', 'paused')
  return capture(vm, { ...captureOptions(host, sandbox), folder, leave: 'as-before' }, deadline)
}

/** Files of a checkpoint are never written again, so that a second name for each serves a second one. */
async function linkHibernation(host: Host, sandbox: Sandbox, folder: string, deadline: Deadline): Promise<Captured> {
  const source = host.dir.hibernation(sandbox.id)
  const { layers, pages } = await host.checkpoints.open(source, host.machines.of, deadline)
  const [from, to] = [checkpointFiles(source), checkpointFiles(folder)]
  await mkdir(folder, { mode: 0o700 })
  for (const name of ['pages', 'runs', 'state'] as const) await link(from[name], to[name])
  return { folder, layers: layers.map(({ id }) => id), memoryBytes: pages.bytes, pausedMs: 0 }
}
