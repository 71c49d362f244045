import { type SpentCreditBody, spentCreditBody } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import type { Logger } from 'pino'
import { readRecord } from '../ledger/read-record.ts'

type Entry = SpentCreditBody['workspaces'][number]

/**
 * The workspaces that may start nothing because their credit is spent, as control last reported them. Stored on disk, so that
 * they stay refused after a restart of the agent and while control is away. Each entry expires, so that an absent control locks
 * no workspace out for too long.
 */
export class SpentCredit {
  readonly #path: string
  #entries: ReadonlyMap<string, Entry>
  #writing: Promise<void> = Promise.resolve()

  private constructor(path: string, entries: readonly Entry[]) {
    this.#path = path
    this.#entries = byWorkspace(entries)
  }

  /** With an unreadable file the agent refuses no workspace until control sends the list again, which it does periodically. */
  static async open(path: string, log: Pick<Logger, 'error'>): Promise<SpentCredit> {
    const read = await readRecord(path, (content) => spentCreditBody.parse(content))
    if (read.state === 'unreadable') log.error({ err: read.error, path }, 'list of spent credit cannot be read')
    return new SpentCredit(path, read.state === 'present' ? read.record.workspaces : [])
  }

  /** Takes effect once it is on disk. Of two concurrent calls the later one wins. */
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
