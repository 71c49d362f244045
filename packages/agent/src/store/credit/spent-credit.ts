import { readFile } from 'node:fs/promises'
import { type SpentCreditBody, spentCreditBody } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'

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

  static async open(path: string): Promise<SpentCredit> {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    return new SpentCredit(path, text === null ? [] : spentCreditBody.parse(JSON.parse(text)).workspaces)
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
