import type { X509Certificate } from 'node:crypto'
import type { CertificateAuthority } from '@offshoot/kit/x509/certificate-authority'
import { certificatesIn, isIssuedBy } from '@offshoot/kit/issued-certificates'
import type pg from 'pg'
import type { Queryable } from '../platform/db/statement.ts'
import type { Seal } from '../platform/secrets/seal.ts'
import {
  fleetAuthority,
  type FleetAuthorityRow,
  fleetAuthorityVersion,
  insertFleetAuthority,
  introduceAuthority,
} from './fleet-authority-statements.ts'

/** Seconds for which a certificate of a process or a host is valid. */
export const CERTIFICATE_SECONDS = 24 * 60 * 60
const COMMON_NAME = 'Offshoot fleet'

/** Whom the fleet trusts at one version, and who signs. */
export class FleetTrust {
  readonly version: number
  /** PEM: every authority that is trusted. */
  readonly bundle: string
  readonly #signer: CertificateAuthority
  readonly #trusted: readonly X509Certificate[]

  constructor(version: number, signer: CertificateAuthority, other: string | null) {
    this.version = version
    this.#signer = signer
    this.bundle = `${signer.certificate}${other ?? ''}`
    this.#trusted = certificatesIn(this.bundle)
  }

  /** A certificate that says this version. Whoever gets it gets the bundle, too. @throws UnusableRequest */
  sign(request: string, name: string, seconds = CERTIFICATE_SECONDS): Promise<string> {
    return this.#signer.sign(request, name, seconds, String(this.version))
  }

  hasIssued(certificate: X509Certificate): boolean {
    return isIssuedBy(certificate, this.#trusted)
  }
}

/**
 * The authority that signs the certificates of control, edges and hosts (docs/adr/0043-joining-hosts.md). Its key is a
 * sealed row of the database. The first use makes it: a service without joined hosts has none. While it is replaced
 * there are two of them (docs/adr/0063-authority-rotation.md).
 */
export class FleetAuthority {
  readonly #pool: pg.Pool
  readonly #seal: Seal
  #opened: { readonly id: string; readonly trust: Promise<FleetTrust> } | undefined

  constructor(pool: pg.Pool, seal: Seal) {
    this.#pool = pool
    this.#seal = seal
  }

  /** What the fleet trusts now. Makes an authority if there is none. */
  async get(): Promise<FleetTrust> {
    const row = (await this.row()) ?? (await this.#make())
    const { version, certificate, other_certificate: other } = row
    // A restored database may have others at the same version.
    const id = `${version} ${certificate}${other}`
    if (this.#opened?.id === id) return this.#opened.trust
    const trust = this.#open(row)
    this.#opened = { id, trust }
    trust.catch(() => (this.#opened = undefined))
    return trust
  }

  async row(on: Queryable = this.#pool): Promise<FleetAuthorityRow | undefined> {
    const [row] = await fleetAuthority(on)
    return row
  }

  /** `null`: there is no authority yet. */
  async version(): Promise<number | null> {
    const [row] = await fleetAuthorityVersion(this.#pool)
    return row?.version ?? null
  }

  /** Makes a second authority, which the fleet trusts from now on. @returns the version; `null`: there are two already, or none */
  async introduce(on: Queryable): Promise<number | null> {
    const { makeAuthority } = await import('@offshoot/kit/x509/certificate-authority')
    const made = await makeAuthority(COMMON_NAME)
    const [row] = await introduceAuthority(on, made.certificate, this.#seal.close(made.key))
    return row?.version ?? null
  }

  async #make(): Promise<FleetAuthorityRow> {
    const { makeAuthority } = await import('@offshoot/kit/x509/certificate-authority')
    const made = await makeAuthority(COMMON_NAME)
    await insertFleetAuthority(this.#pool, made.certificate, this.#seal.close(made.key))
    const row = await this.row()
    if (row === undefined) throw new Error('the authority of the fleet could not be made')
    return row
  }

  async #open({ version, certificate, key, other_certificate: other }: FleetAuthorityRow): Promise<FleetTrust> {
    // Loading the library takes longer than all else that control does at its start.
    const { CertificateAuthority } = await import('@offshoot/kit/x509/certificate-authority')
    const signer = await CertificateAuthority.open({ certificate, key: this.#seal.open(key) })
    return new FleetTrust(version, signer, other)
  }
}
