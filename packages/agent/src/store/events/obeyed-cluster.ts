import { ApiError } from '@offshoot/contract/errors'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import type { Logger } from 'pino'
import { z } from 'zod'
import { readRecord } from '../ledger/read-record.ts'

const clusterFile = z.object({ cluster_id: z.uuid() })

/** Nobody's: in the place of an id that cannot be read, so that no control deletes anything before an operator has decided. */
const UNREADABLE = '00000000-0000-0000-0000-000000000000'

/**
 * The cluster, which is the database behind control, that this agent obeys: the first one that asked. Control of any other
 * deletes nothing here, because its database does not know what this agent has.
 */
export class ObeyedCluster {
  readonly #path: string
  #id: string | null
  #writing: Promise<void> = Promise.resolve()

  private constructor(path: string, id: string | null) {
    this.#path = path
    this.#id = id
  }

  static async open(path: string, log: Pick<Logger, 'error'>): Promise<ObeyedCluster> {
    const read = await readRecord(path, (content) => clusterFile.parse(content))
    if (read.state === 'unreadable') {
      log.error({ err: read.error, path }, 'the cluster of this agent cannot be read: control deletes nothing here')
      return new ObeyedCluster(path, UNREADABLE)
    }
    return new ObeyedCluster(path, read.state === 'present' ? read.record.cluster_id : null)
  }

  /** `null` before the first control asked. */
  get id(): string | null {
    return this.#id
  }

  /**
   * Takes effect once it is on disk.
   * @param takeOver an operator wants it to obey this one instead of another
   * @throws ApiError 409 it obeys another one
   */
  obey(id: string, takeOver: boolean): Promise<void> {
    const written = this.#obeyAfter(this.#writing, id, takeOver)
    this.#writing = written.catch(() => undefined)
    return written
  }

  async #obeyAfter(before: Promise<void>, id: string, takeOver: boolean): Promise<void> {
    await before
    if (this.#id === id) return
    if (this.#id !== null && !takeOver) throw new ApiError('otherCluster')
    await writeFileDurably(this.#path, `${JSON.stringify({ cluster_id: id })}\n`)
    this.#id = id
  }

  /**
   * @param id as the credential names it; none in those of a control that knows no clusters
   * @throws ApiError 409
   */
  refuseOther(id: string | undefined): void {
    if (this.#id !== null && id !== undefined && id !== this.#id) throw new ApiError('otherCluster')
  }
}
