import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { durableSeal } from '../machine/capture/durable-seal.ts'
import { Thread } from '../machine/capture/thread.ts'
import { type CheckpointMachines, Checkpoints } from '../store/checkpoints/checkpoints.ts'
import { VerifiedFiles } from '../store/checkpoints/verified-files.ts'
import { loadSigningKeys } from '../store/checkpoints/signing-key.ts'
import { Layers } from '../store/disks/layers.ts'

/** The origin of checkpoints in tests. */
export const ORIGIN = {
  bake: 'base/0123',
  template: 'base',
  cpu: 1,
  memory_mb: 512,
  guest_ip: null,
  created_at: '2026-11-21T00:00:00.000Z',
}

/** A thread loads the modules of its work when it starts, which takes longer than the work of a test. */
const thread = new Thread()

/** The frozen layers below the data directory of a test. */
export async function openLayers(root: string): Promise<Layers> {
  await mkdir(join(root, 'layers'), { recursive: true })
  return new Layers({ layers: join(root, 'layers'), retiredLayers: join(root, 'retired') }, console)
}

/** The checkpoints of an agent that has just started, without any known file. */
export async function openCheckpoints<Machine>(
  root: string,
  machines: CheckpointMachines<Machine>,
): Promise<Checkpoints<Machine>> {
  return new Checkpoints({
    root,
    keys: await loadSigningKeys(join(root, 'checkpoint.key'), { error: () => undefined }),
    layers: await openLayers(root),
    files: new VerifiedFiles(durableSeal(thread, '/dev/null/write-out')),
    machines,
  })
}
