import { generateKeyPairSync } from 'node:crypto'
import { keyPairOf, type SshKeyPair } from '@offshoot/kit/ssh/ssh-certificate'
import type pg from 'pg'
import type { Seal } from '../../../platform/secrets/seal.ts'
import { insertSshServiceKey, sshServiceKeys } from './ssh-service-key-statements.ts'

export interface SshServiceKeyPairs {
  /** The gateway's identity, which every edge shares. */
  readonly host: SshKeyPair
  /** Signs users' certificates. It never leaves control. */
  readonly authority: SshKeyPair
}

/** The SSH keys of the service: rows of the database, sealed. The first use makes them. */
export class SshServiceKeys {
  readonly #pool: pg.Pool
  readonly #seal: Seal
  #pairs: Promise<SshServiceKeyPairs> | undefined

  constructor(pool: pg.Pool, seal: Seal) {
    this.#pool = pool
    this.#seal = seal
  }

  /** Reads the keys once. Asks again after a failure. */
  get(): Promise<SshServiceKeyPairs> {
    this.#pairs ??= this.#load().catch((error: unknown) => {
      this.#pairs = undefined
      throw error
    })
    return this.#pairs
  }

  async #load(): Promise<SshServiceKeyPairs> {
    const known = await this.#read()
    if (known !== null) return known
    for (const purpose of ['host', 'authority'])
      await insertSshServiceKey(this.#pool, purpose, this.#seal.close(newKey()))
    const made = await this.#read()
    if (made === null) throw new Error('the SSH keys of the service could not be made')
    return made
  }

  async #read(): Promise<SshServiceKeyPairs | null> {
    const rows = new Map((await sshServiceKeys(this.#pool)).map(({ purpose, key }) => [purpose, key]))
    const [host, authority] = [rows.get('host'), rows.get('authority')]
    if (host === undefined || authority === undefined) return null
    return { host: keyPairOf(this.#seal.open(host)), authority: keyPairOf(this.#seal.open(authority)) }
  }
}

function newKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}
