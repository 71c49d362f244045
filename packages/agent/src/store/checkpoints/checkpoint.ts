import { z } from 'zod'
import { layerId } from '../disks/layer-id.ts'

const fileSeal = z.object({ bytes: z.int(), sha256: z.string() })
/** What a file was when it was written. */
export type FileSeal = z.infer<typeof fileSeal>

/** One layer of a guest's memory (`MemoryFiles`). */
const memorySeal = z.object({ pages: fileSeal, runs: fileSeal })
export type MemorySeal = z.infer<typeof memorySeal>

const content = z.object({
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
  state: fileSeal,
})

/** What `checkpoint.json` says of its folder. */
export interface Checkpoint extends z.output<typeof content> {
  /** The layers of its memory, the lowest first: its bases and its own. */
  readonly memory: readonly MemorySeal[]
}

/**
 * As it is written. One without bases has the form that every version of the agent has read. One with bases has another,
 * so that an agent that does not know of bases refuses it, and does not restore half of its memory.
 */
const storedCheckpoint = z.union([
  content.extend({ memory: z.array(memorySeal).min(2) }),
  content.extend(memorySeal.shape),
])

/** @throws ZodError */
export function parseCheckpoint(stored: unknown): Checkpoint {
  const parsed = storedCheckpoint.parse(stored)
  if ('memory' in parsed) return parsed
  const { pages, runs, ...rest } = parsed
  return { ...rest, memory: [{ pages, runs }] }
}

export function formatCheckpoint(checkpoint: Checkpoint): z.input<typeof storedCheckpoint> {
  const { memory, ...rest } = checkpoint
  const [only, ...others] = memory
  return only === undefined || others.length > 0 ? { ...rest, memory: [...memory] } : { ...rest, ...only }
}

/** What its maker knows of it beside the files. */
export type CheckpointOrigin = Pick<Checkpoint, 'bake' | 'template' | 'cpu' | 'memory_mb' | 'guest_ip' | 'created_at'>
