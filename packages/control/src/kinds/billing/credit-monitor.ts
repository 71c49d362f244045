import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { MAX_SPENT_WORKSPACES, type SpentCreditBody } from '@offshoot/contract/agent-api'
import { PLANS } from '@offshoot/contract/plan'
import type { Logger } from 'pino'
import type { Fleet } from '../../fleet/fleet.ts'
import type { Database } from '../../platform/db/database.ts'
import { transaction } from '../../platform/db/transaction.ts'
import type { Outbox } from '../../platform/mail/outbox.ts'
import { creditMail } from './credit-mail.ts'
import { type AssessedRow, assessCredit, noteNotice, ownersOf } from './model/credit-statements.ts'
import { usd } from './model/usd.ts'

/** The share of its credit at which a workspace is warned. */
const WARNING_SHARE = 0.8
/** Milliseconds between two checks. */
const LOOK_MS = 6_000
/** Checks of one job. */
const LOOKS = 10
/** Milliseconds after which an agent gets an unchanged list again, because its disk may have been replaced. */
const RESEND_MS = 60_000

const PLANS_WITH_CREDIT = JSON.stringify(
  Object.entries(PLANS).flatMap(([plan, { monthlyCreditMicroUsd: micro_usd }]) =>
    micro_usd === null ? [] : [{ plan, micro_usd }],
  ),
)

export interface CreditMonitorOptions {
  readonly database: Database
  readonly fleet: Fleet
  readonly outbox: Outbox
  readonly log: Logger
}

/**
 * Checks periodically which workspaces have spent their free credit. One process at a time does. It stores the result
 * in the database, sends each owner one mail a month, and sends the list to every agent, which then refuses by
 * itself.
 *
 * A workspace leaves the list when it has credit again: after an upgrade, a grant or the start of a month. The
 * consequences for sandboxes are in {@link file://./credit-pauses.ts}.
 */
export class CreditMonitor {
  readonly #options: CreditMonitorOptions
  readonly #sent = new Map<string, { readonly list: string; readonly atMs: number }>()

  constructor(options: CreditMonitorOptions) {
    this.#options = options
  }

  /**
   * Looks for about a minute, because the engine's work for a job costs the database more than a look.
   * @returns milliseconds until the next run
   */
  async watch(signal: AbortSignal): Promise<number> {
    for (let looks = 0; looks < LOOKS && !signal.aborted; looks += 1) {
      await this.#look()
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined)
    }
    return 0
  }

  async #look(): Promise<void> {
    const { database } = this.#options
    const rows = await assessCredit(database.pool, PLANS_WITH_CREDIT, WARNING_SHARE)
    for (const row of rows) await this.#warn(row)
    await this.#tell(rows.filter((row) => row.is_exhausted))
  }

  /**
   * Notice and mails are in one transaction. So they are sent once, even if two processes check at the same time or one
   * dies.
   */
  async #warn({ workspace_id: id, is_exhausted: isExhausted, credit_micro_usd: credit }: AssessedRow): Promise<void> {
    const { database, outbox } = this.#options
    const percent = isExhausted ? 100 : 80
    await transaction(database.pool, async (client) => {
      const [notice] = await noteNotice(client, id, percent)
      if (notice === undefined) return
      for (const { email, workspace_name: workspace } of await ownersOf(client, id)) {
        await outbox.put(client, creditMail({ email, workspace, percent, creditUsd: usd(credit), month: notice.month }))
      }
    })
  }

  async #tell(spent: readonly AssessedRow[]): Promise<void> {
    const body: SpentCreditBody = { workspaces: spent.slice(0, MAX_SPENT_WORKSPACES).map(entryOf) }
    const list = JSON.stringify(body.workspaces.map((each) => [each.workspace_id, each.until]))
    const agents = this.#options.fleet.agents.filter(({ info, isReachable }) => info !== null && isReachable)
    await Promise.all(
      agents.map(async ({ client, info }) => {
        const sent = this.#sent.get(client.url)
        const state = `${info?.agent_id} ${list}`
        if (sent?.list === state && performance.now() - sent.atMs < RESEND_MS) return
        await client.putSpentCredit(body, randomUUID()).then(
          () => this.#sent.set(client.url, { list: state, atMs: performance.now() }),
          (error: unknown) =>
            this.#options.log.warn({ err: error, url: client.url }, 'list of spent credit not sent to the agent'),
        )
      }),
    )
  }
}

function entryOf({ workspace_id, credit_micro_usd, used_micro_usd, until }: AssessedRow) {
  return {
    workspace_id,
    credit_usd: usd(credit_micro_usd),
    cost_usd_used: usd(used_micro_usd),
    until: until.toISOString(),
  }
}
