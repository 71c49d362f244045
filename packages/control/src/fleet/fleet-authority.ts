import type { CertificateAuthority } from '@offshoot/kit/x509/certificate-authority'
import type pg from 'pg'
import type { Seal } from '../platform/secrets/seal.ts'
import { fleetAuthority, insertFleetAuthority } from './fleet-authority-statements.ts'

/** Seconds for which a certificate of a process or a host is valid. */
export const CERTIFICATE_SECONDS = 24 * 60 * 60

/**
 * The authority that signs the certificates of control, edges and hosts (docs/adr/0043-joining-hosts.md). Its key is a
 * sealed row of the database. The first use makes it: a service without joined hosts has none.
 */
export class FleetAuthority {
  readonly #pool: pg.Pool
  readonly #seal: Seal
  #opened: Promise<CertificateAuthority> | undefined

  constructor(pool: pg.Pool, seal: Seal) {
    this.#pool = pool
    this.#seal = seal
  }

  /** Reads the key once. Asks again after a failure. */
  get(): Promise<CertificateAuthority> {
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  async #open(): Promise<CertificateAuthority> {
    // Loading the library takes longer than all else that control does at its start.
    const { CertificateAuthority, makeAuthority } = await import('@offshoot/kit/x509/certificate-authority')
    const [known] = await fleetAuthority(this.#pool)
    if (known === undefined) {
      const made = await makeAuthority('Offshoot fleet')
      await insertFleetAuthority(this.#pool, made.certificate, this.#seal.close(made.key))
    }
    const [row] = known === undefined ? await fleetAuthority(this.#pool) : [known]
    if (row === undefined) throw new Error('the authority of the fleet could not be made')
    return CertificateAuthority.open({ certificate: row.certificate, key: this.#seal.open(row.key) })
  }
}
