import { Deadline } from '@offshoot/kit/deadline'
import type { Logger } from 'pino'
import type { Reaping } from '../../../platform/jobs/reaper.ts'
import { orderCertificate, OrderFailure, type Ordering, OrderTaken } from './order-certificate.ts'
import { claimOrders, failOrder, leaveOrder, type OrderRow, wantCertificates } from './order-statements.ts'

/** Milliseconds for one attempt. The next attempt continues an unfinished order. */
const TRY_MS = 120_000
/** Orders that one process starts in one round. */
const AT_ONCE = 8
const MAX_ERROR_CHARS = 500

export interface CertificateOrdersOptions extends Ordering {
  /** Its number distinguishes this process from the others. */
  readonly lock: { readonly number: number }
  readonly log: Logger
  /** Aborts when the process stops. Another process continues the running orders. */
  readonly stopped: AbortSignal
}

/** Orders a certificate once a domain is verified, and renews it in time. The row stores the reason of a failure. */
export function certificateOrders({ lock, log, stopped, ...ordering }: CertificateOrdersOptions): Reaping<OrderRow> {
  const { pool } = ordering
  return {
    what: 'certificate of a domain',
    everyMs: 500,
    claim: async (limit) => {
      await wantCertificates(pool, AT_ONCE)
      return claimOrders(pool, Math.min(limit, AT_ONCE), lock.number)
    },
    remove: async (row) => {
      const creator = lock.number
      const deadline = Deadline.after(TRY_MS, `certificate of ${row.domain}`, stopped)
      await orderCertificate(ordering, row, creator, deadline).catch(async (error: unknown) => {
        if (error instanceof OrderTaken) return
        if (stopped.aborted) {
          await leaveOrder(pool, row.id, creator)
          return
        }
        log.warn({ err: error, domain: row.domain }, 'no certificate')
        await failOrder(pool, row.id, creator, reasonOf(error), isUnfinished(error))
      })
    },
    retry: (id) => leaveOrder(pool, id, lock.number),
  }
}

/** The authority refused nothing: it was unreachable, or has not completed its work. */
function isUnfinished(error: unknown): boolean {
  const { name, isAxiosError } = error as { name?: unknown; isAxiosError?: unknown }
  return name === 'DeadlineExceeded' || isAxiosError === true
}

function reasonOf(error: unknown): string {
  if (isUnfinished(error)) return 'the authority did not answer in time'
  const told = error instanceof OrderFailure || error instanceof Error ? error.message : 'unknown'
  return told.slice(0, MAX_ERROR_CHARS)
}
