import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

const USER_PRESENT = 0x01
const USER_VERIFIED = 0x04
const HAS_CREDENTIAL = 0x40

/** A WebAuthn authenticator with one ES256 credential and attestation "none" (W3C Web Authentication Level 2). */
export class SoftwareAuthenticator {
  readonly id = randomBytes(32)
  /** Whether it asks for a PIN or a fingerprint. */
  verifiesUser = true
  #counter = 0
  readonly #keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject }
  readonly #origin: string
  readonly #rpIdHash: Buffer

  constructor(origin: string, rpId = new URL(origin).hostname) {
    this.#keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#origin = origin
    this.#rpIdHash = sha256(Buffer.from(rpId))
  }

  /** Answers `navigator.credentials.create()`. */
  create(challenge: string) {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' })
    // COSE_Key: kty EC2, alg ES256, crv P-256, x, y.
    const coseKey = Buffer.concat([
      Buffer.from('a5010203262001215820', 'hex'),
      Buffer.from(x, 'base64url'),
      Buffer.from('225820', 'hex'),
      Buffer.from(y, 'base64url'),
    ])
    const credential = Buffer.concat([Buffer.alloc(16), uint16(this.id.length), this.id, coseKey])
    const data = Buffer.concat([this.#authenticatorData(HAS_CREDENTIAL), credential])
    // CBOR: {"fmt": "none", "attStmt": {}, "authData": bytes}
    const attestation = Buffer.concat([
      Buffer.from('a363666d74646e6f6e656761747453746d74a068617574684461746159', 'hex'),
      uint16(data.length),
      data,
    ])
    return this.#answer({
      clientDataJSON: this.#clientData('webauthn.create', challenge).toString('base64url'),
      attestationObject: attestation.toString('base64url'),
      transports: ['internal'],
    })
  }

  /** Answers `navigator.credentials.get()`. */
  get(challenge: string) {
    const clientData = this.#clientData('webauthn.get', challenge)
    const data = this.#authenticatorData(0)
    const signature = sign('sha256', Buffer.concat([data, sha256(clientData)]), this.#keys.privateKey)
    return this.#answer({
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
    })
  }

  #answer(response: object) {
    const id = this.id.toString('base64url')
    return { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} }
  }

  #authenticatorData(flags: number): Buffer {
    this.#counter += 1
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(this.#counter)
    const all = flags | USER_PRESENT | (this.verifiesUser ? USER_VERIFIED : 0)
    return Buffer.concat([this.#rpIdHash, Buffer.from([all]), counter])
  }

  #clientData(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.#origin, crossOrigin: false }))
  }
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}
