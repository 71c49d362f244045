import { type SpentCreditBody, spentCreditBody } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import type { Logger } from 'pino'
import { readRecord } from '../ledger/read-record.ts'

type Entry = SpentCreditBody['workspaces'][number]

/**
 * Workspaces that may start nothing, as control said last. Kept on disk: a control that is away, or a restart of ours, lets
 * none of them in. Each entry ends by itself, so that control's absence locks nobody out for longer than meant either.
 */
export class SpentCredit {
  readonly #path: string
  #entries: ReadonlyMap<string, Entry>
  #writing: Promise<void> = Promise.resolve()

  private constructor(path: string, entries: readonly Entry[]) {
    this.#path = path
    this.#entries = byWorkspace(entries)
  }

  /** Of a file that cannot be read nothing is known: everybody is let in until control, which tells again and again, has told. */
  static async open(path: string, log: Pick<Logger, 'error'>): Promise<SpentCredit> {
    const read = await readRecord(path, (content) => spentCreditBody.parse(content))
    if (read.state === 'unreadable') log.error({ err: read.error, path }, 'list of spent credit cannot be read')
    return new SpentCredit(path, read.state === 'present' ? read.record.workspaces : [])
  }

  /** Holds once it is on disk; of two at once the later one holds. */
  replace(body: SpentCreditBody): Promise<void> {
    const written = this.#write(this.#writing, body)
    this.#writing = written.catch(() => undefined)
    return written
  }

  async #write(before: Promise<void>, body: SpentCreditBody): Promise<void> {
    await before
    await writeFileDurably(this.#path, `${JSON.stringify(body)}\n`)
    this.#entries = byWorkspace(body.workspaces)
  }

  /** @throws ApiError 402 */
  refuseIfSpent(workspaceId: WorkspaceId): void {
    const entry = this.#entries.get(workspaceId)
    if (entry === undefined || Date.parse(entry.until) <= Date.now()) return
    const { credit_usd, cost_usd_used } = entry
    throw new ApiError('creditExhausted', { credit_usd, cost_usd_used })
  }
}

function byWorkspace(entries: readonly Entry[]): ReadonlyMap<string, Entry> {
  return new Map(entries.map((entry) => [entry.workspace_id, entry]))
}
