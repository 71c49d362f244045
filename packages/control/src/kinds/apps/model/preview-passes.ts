import { hkdfSync } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import type { SealingKeys } from '../../../platform/secrets/seal.ts'

const AUDIENCE = 'offshoot-preview'

/** The sealing keys (`Keyring`), from which those of passes are derived. */
export interface PassKeys extends SealingKeys {
  readonly rows: readonly { readonly is_resealed: boolean }[]
}

/** Whose pass it is: of a link, or of a member in one session. */
const holder = z.union([z.object({ link: z.uuid() }), z.object({ user: z.uuid(), session: z.uuid() })])
export type PassHolder = z.infer<typeof holder>

/**
 * Signs and verifies passes, the values of the edge's cookies (docs/adr/0038-private-previews.md). The keys are derived
 * from the sealing keys, and a pass names its key. A pass whose key a rotation has removed opens nothing.
 */
export class PreviewPasses {
  readonly #keyring: PassKeys
  readonly #derived = new Map<string, Uint8Array>()

  constructor(keyring: PassKeys) {
    this.#keyring = keyring
  }

  /** @param origin the only one for which the pass is valid */
  sign(origin: string, of: PassHolder, expiresAt: Date): Promise<string> {
    const { version, secret } = this.#keyring.current
    return (
      new SignJWT({ origin, ...of })
        .setProtectedHeader({ alg: 'HS256', kid: String(version) })
        .setAudience(AUDIENCE)
        // Whole seconds, and not earlier: control looks at the link itself too.
        .setExpirationTime(Math.ceil(expiresAt.getTime() / 1000))
        .sign(this.#derive(secret))
    )
  }

  /** `null` unless control has signed this pass for the origin, and it has not expired. */
  async verify(origin: string, pass: string): Promise<PassHolder | null> {
    try {
      const { payload } = await jwtVerify(pass, ({ kid }) => this.#keyOf(kid), {
        algorithms: ['HS256'],
        audience: AUDIENCE,
        requiredClaims: ['exp'],
      })
      return payload['origin'] === origin ? holder.parse(payload) : null
    } catch {
      return null
    }
  }

  #keyOf(id: string | undefined): Uint8Array {
    const version = Number(id)
    const isRetired = version === 0 && this.#keyring.rows.some((row) => row.is_resealed)
    const secret = isRetired ? null : this.#keyring.secretOf(version)
    if (secret === null) throw new Error('the key of this pass is gone')
    return this.#derive(secret)
  }

  #derive(secret: string): Uint8Array {
    const known = this.#derived.get(secret)
    if (known !== undefined) return known
    const key = new Uint8Array(hkdfSync('sha256', secret, '', 'offshoot preview passes', 32))
    this.#derived.set(secret, key)
    return key
  }
}
