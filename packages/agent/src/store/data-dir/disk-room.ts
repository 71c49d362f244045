import { statfs } from 'node:fs/promises'
import type { DiskRoomInfo, DiskState } from '@offshoot/contract/agent-disk'
import { ApiError } from '@offshoot/contract/errors'
import type { Logger } from 'pino'

const MIB = 1024 ** 2
const GIB = 1024 ** 3
/**
 * Default watermarks: a share of the file system, and what is enough of a large one. The lower one leaves room to hibernate what
 * runs. On a large disk it lies above what archives of databases leave free (`store/archives/archive.ts`): creates stop
 * before backups do.
 */
const WARN = { share: 1 / 10, enoughBytes: 16 * GIB }
const REFUSE = { share: 1 / 20, enoughBytes: 4 * GIB }
/** A state ends when so many times its watermark is free: a sandbox that comes and goes does not switch it. */
const HYSTERESIS = 1.25

/** See `disk` in the agent's configuration. */
export interface Watermarks {
  readonly warn_below_mib: number | null
  readonly refuse_below_mib: number | null
}

interface Marks {
  readonly warnBytes: number
  readonly refuseBytes: number
}

/** For what room is asked. */
type VolumeRequest = 'sandbox' | 'template' | 'volume'

const REFUSALS = { sandbox: 'sandboxStorage', template: 'templateStorage', volume: 'insufficientStorage' } as const

/**
 * Refuses what takes new room while the disk still has some for what is there: memory of hibernations, blocks that guests write.
 * Asked are creates, forks, snapshots, template builds and volumes. Not asked is what keeps data or gives room back: wake, pause,
 * hibernate, delete, and what guests do.
 *
 * Nothing is reserved: of many that ask at the same time, all are let in. The room below the watermark is for that, too.
 */
export class DiskRoom {
  readonly #folder: string
  readonly #watermarks: Watermarks
  readonly #log: Pick<Logger, 'info' | 'warn'>
  #state: DiskState = 'ok'

  constructor(folder: string, watermarks: Watermarks, log: Pick<Logger, 'info' | 'warn'>) {
    this.#folder = folder
    this.#watermarks = watermarks
    this.#log = log
  }

  /** How it is now. A change is logged. @throws what `statfs` throws */
  async look(): Promise<DiskRoomInfo> {
    const { blocks, bavail, bsize } = await statfs(this.#folder)
    const [totalBytes, freeBytes] = [blocks * bsize, bavail * bsize]
    const marks = marksOf(totalBytes, this.#watermarks)
    const state = nextState(this.#state, freeBytes, marks)
    const room = {
      state,
      total_bytes: totalBytes,
      free_bytes: freeBytes,
      warn_below_bytes: marks.warnBytes,
      refuse_below_bytes: marks.refuseBytes,
    }
    if (state !== this.#state) {
      if (state === 'ok') this.#log.info(room, 'the disk has room again')
      else if (state === 'low') this.#log.warn(room, 'the disk runs low: make room')
      else this.#log.warn(room, 'the disk has too little room: what takes more is refused')
    }
    this.#state = state
    return room
  }

  /** @throws ApiError 507; what `statfs` throws */
  async admit(wanted: VolumeRequest): Promise<void> {
    const { state } = await this.look()
    if (state === 'refusing') throw new ApiError(REFUSALS[wanted])
  }
}

/** The lower of a share and what is enough, unless configured. Who is refused has been warned. */
export function marksOf(totalBytes: number, { warn_below_mib, refuse_below_mib }: Watermarks): Marks {
  const of = (configuredMib: number | null, { share, enoughBytes }: typeof WARN) =>
    configuredMib === null ? Math.floor(Math.min(totalBytes * share, enoughBytes)) : configuredMib * MIB
  const refuseBytes = of(refuse_below_mib, REFUSE)
  return { refuseBytes, warnBytes: Math.max(of(warn_below_mib, WARN), refuseBytes) }
}

export function nextState(before: DiskState, freeBytes: number, { warnBytes, refuseBytes }: Marks): DiskState {
  const isBelow = (markBytes: number, isSo: boolean) => freeBytes < markBytes * (isSo ? HYSTERESIS : 1)
  if (isBelow(refuseBytes, before === 'refusing')) return 'refusing'
  return isBelow(warnBytes, before !== 'ok') ? 'low' : 'ok'
}
