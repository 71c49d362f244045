import { Gauge, type Registry } from 'prom-client'
import { briefCache } from '../../../platform/http/brief-cache.ts'
import type { CertificateSource } from '../../../platform/http/tls-listener.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { newOwnCertificate, ownOrderFailures } from './own-certificate-statements.ts'

/** Milliseconds between two looks at the row. */
const LOOK_MS = 1_000

/** The certificate of the API's own name, from the row in which every control process finds it. */
export function ownCertificate(
  { database: { pool }, certificateKeys }: Pick<AppsContext, 'database' | 'certificateKeys'>,
  name: string,
): CertificateSource {
  let known = ''
  return {
    lookMs: LOOK_MS,
    async read() {
      const [row] = await newOwnCertificate(pool, name, known)
      if (row === undefined) return null
      const pem = { cert: row.chain, key: certificateKeys.open(row.key) }
      known = row.fingerprint
      return pem
    },
  }
}

export function addOrderFailures(
  registry: Registry,
  { database: { pool } }: Pick<AppsContext, 'database'>,
  name: string,
): void {
  const latest = briefCache(LOOK_MS, () => ownOrderFailures(pool, name).catch(() => []))
  const gauge = new Gauge({
    name: 'offshoot_tls_certificate_order_failures',
    help: 'Failed orders of the API’s certificate since the last one that succeeded',
    registers: [registry],
    async collect() {
      const [row] = await latest()
      if (row !== undefined) gauge.set(row.failures)
    },
  })
}
