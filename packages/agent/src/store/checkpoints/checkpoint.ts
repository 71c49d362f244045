import { z } from 'zod'
import { layerId } from '../disks/layer-id.ts'

export const fileSeal = z.object({ bytes: z.int(), sha256: z.string() })
/** Size and hash of a file at the time of its creation. */
export type FileSeal = z.infer<typeof fileSeal>

export function isSameSeal(a: FileSeal, b: FileSeal): boolean {
  return a.bytes === b.bytes && a.sha256 === b.sha256
}

/** One layer of a guest's memory (`MemoryFiles`). */
const memorySeal = z.object({ pages: fileSeal, runs: fileSeal })
export type MemorySeal = z.infer<typeof memorySeal>

const content = z.object({
  /** The bake below its pages, `NAME/FINGERPRINT`. */
  bake: z.string(),
  /**
   * Fingerprint of QEMU, machine and CPU (`machine/vm/machine-fingerprint.ts`, `machine/vm/earlier-fingerprint.ts`). Only
   * the same ones can load its state.
   */
  machine: z.string(),
  /**
   * Frequency in kHz of the time-stamp counter of its guest's clock. In checkpoints without it, `machine` includes the
   * counter.
   */
  tsc_khz: z.number().optional(),
  template: z.string(),
  cpu: z.int(),
  memory_mb: z.int(),
  guest_ip: z.string().nullable(),
  created_at: z.iso.datetime(),
  /** Bytes on disk that only this checkpoint uses: memory, devices and the layer that it froze. */
  bytes: z.int(),
  /** The frozen layers of its disk, the lowest first, with their seals. */
  layers: z.array(fileSeal.extend({ id: layerId })),
  state: fileSeal,
})

/** The content of `checkpoint.json`. */
export interface Checkpoint extends z.output<typeof content> {
  /** The layers of its memory, the lowest first: its bases and its own layer. */
  readonly memory: readonly MemorySeal[]
}

/**
 * The stored form. Without bases, it is the form that every version of the agent reads. With bases, it is another form, so
 * that an agent that does not know bases refuses it instead of restoring half of the memory.
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

/** The fields that the caller knows; the rest comes from the files. */
export type CheckpointOrigin = Pick<Checkpoint, 'bake' | 'template' | 'cpu' | 'memory_mb' | 'guest_ip' | 'created_at'>
