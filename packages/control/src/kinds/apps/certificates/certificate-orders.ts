import { Deadline } from '@offshoot/kit/deadline'
import type { Logger } from 'pino'
import type { RecurringTask, RowTask } from '../../../platform/jobs/task.ts'
import type { AcmeSettings } from '@offshoot/contract/control-settings'
import type pg from 'pg'
import type { Seal } from '../../../platform/secrets/seal.ts'
import {
  claimOrder,
  dueOrderIds,
  failOrder,
  leaveOrder,
  type OrderRow,
  remindOrders,
  wantCertificates,
} from './order-statements.ts'
import { claimOwnOrder, dueOwnOrderIds } from './own-certificate-statements.ts'

/** Milliseconds for one attempt. The next attempt continues an unfinished order. */
const TRY_MS = 120_000
const MAX_ERROR_CHARS = 500
/** Orders that are added at once. The next run adds the rest. */
const MAX_WANTED = 1_000

/** Certificates that this process orders: those of app domains, or that of the API's own name. */
export interface Orders {
  readonly settings: AcmeSettings
  readonly due: (limit: number) => Promise<readonly { readonly id: string }[]>
  readonly claim: (id: string, creator: number) => Promise<readonly OrderRow[]>
}

export function ordersOfApps(pool: pg.Pool, settings: AcmeSettings): Orders {
  return {
    settings,
    due: (limit) => dueOrderIds(pool, limit),
    claim: (id, creator) => claimOrder(pool, id, creator),
  }
}

export function ordersOfOwnName(pool: pg.Pool, settings: AcmeSettings, name: string): Orders {
  return {
    settings,
    due: () => dueOwnOrderIds(pool, name),
    claim: (id, creator) => claimOwnOrder(pool, id, creator, name),
  }
}

export interface CertificateOrdersOptions {
  readonly pool: pg.Pool
  readonly seal: Seal
  readonly all: readonly Orders[]
  /** Its number distinguishes this process from the others. */
  readonly lock: { readonly number: number }
  readonly log: Logger
  /** Aborts when the process stops. Another process continues the running orders. */
  readonly stopped: AbortSignal
}

/** Orders a certificate once a domain is verified, and renews it in time. The row stores the reason of a failure. */
export function certificateOrders({ pool, seal, all, lock, log, stopped }: CertificateOrdersOptions): RowTask {
  const claim = async (id: string) => {
    for (const { settings, claim: claimAs } of all) {
      const [row] = await claimAs(id, lock.number)
      if (row !== undefined) return { settings, row }
    }
    return null
  }
  return {
    name: 'order-certificate',
    due: async (limit) => (await Promise.all(all.map(({ due }) => due(limit)))).flat(),
    async work({ id }) {
      const creator = lock.number
      const claimed = await claim(id)
      if (claimed === null) return
      const { settings, row } = claimed
      // The library that it loads takes a fifth of a second of CPU time, and most starts order nothing.
      const { orderCertificate, OrderTaken } = await import('./order-certificate.ts')
      const deadline = Deadline.after(TRY_MS, `certificate of ${row.domain}`, stopped)
      try {
        await orderCertificate({ pool, seal, settings }, row, creator, deadline)
      } catch (error) {
        if (error instanceof OrderTaken) return
        if (stopped.aborted) {
          await leaveOrder(pool, row.id, creator)
          throw error
        }
        log.warn({ err: error, domain: row.domain }, 'no certificate')
        await failOrder(pool, row.id, creator, reasonOf(error), isUnfinished(error))
      }
    },
  }
}

/**
 * Adds orders for domains that have just been verified. A task of its own, because only processes with an authority may
 * run it, while any process may look for missing jobs.
 */
export function wantedCertificates(pool: pg.Pool): RecurringTask {
  return {
    name: 'want-certificates',
    async recur() {
      await wantCertificates(pool, MAX_WANTED)
      await remindOrders(pool)
      return null
    },
  }
}

/** The authority refused nothing: it was unreachable, or has not completed its work. */
function isUnfinished(error: unknown): boolean {
  const { name, isAxiosError } = error as { name?: unknown; isAxiosError?: unknown }
  return name === 'DeadlineExceeded' || isAxiosError === true
}

function reasonOf(error: unknown): string {
  if (isUnfinished(error)) return 'the authority did not answer in time'
  const message = error instanceof Error ? error.message : 'unknown'
  return message.slice(0, MAX_ERROR_CHARS)
}
