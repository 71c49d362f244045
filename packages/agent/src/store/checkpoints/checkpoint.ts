import { z } from 'zod'
import { layerId } from '../disks/layer-id.ts'

const fileSeal = z.object({ bytes: z.int(), sha256: z.string() })
/** What a file was when it was written. */
export type FileSeal = z.infer<typeof fileSeal>

/** What `checkpoint.json` says of its folder. */
export const checkpoint = z.object({
  /** The bake its pages lie over, `NAME/FINGERPRINT`. */
  bake: z.string(),
  /** Of QEMU, machine and CPU (`machine/vm/machine-fingerprint.ts`, `machine/vm/earlier-fingerprint.ts`): no other may load its state. */
  machine: z.string(),
  /** kHz of the time-stamp counter that its guest counts time by. Checkpoints without it name the counter in `machine`. */
  tsc_khz: z.number().optional(),
  template: z.string(),
  cpu: z.int(),
  memory_mb: z.int(),
  guest_ip: z.string().nullable(),
  created_at: z.iso.datetime(),
  /** Bytes on disk that are its own: memory, devices and the layer that it froze. */
  bytes: z.int(),
  /** The frozen layers of its disk, the lowest first; each with what it was. */
  layers: z.array(fileSeal.extend({ id: layerId })),
  pages: fileSeal,
  runs: fileSeal,
  state: fileSeal,
})
export type Checkpoint = z.output<typeof checkpoint>

/** What its maker knows of it beside the files. */
export type CheckpointOrigin = Pick<Checkpoint, 'bake' | 'template' | 'cpu' | 'memory_mb' | 'guest_ip' | 'created_at'>
