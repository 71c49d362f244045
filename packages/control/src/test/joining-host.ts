import { createPrivateKey, X509Certificate } from 'node:crypto'
import { EDGE_KEY_ID, SSH_GRANT_KEY_ID } from '@offshoot/contract/agent-credential'
import type { SignedCertificate } from '@offshoot/contract/edge-host'
import {
  HOST_CERTIFICATE_PATH,
  HOST_JOIN_PATH,
  type JoinedHost,
  RENEWAL_AUDIENCE,
} from '@offshoot/contract/host-enrolment'
import { certificateRequest, makePrivateKey } from '@offshoot/kit/x509/certificate-request'
import { SignJWT } from 'jose'
import { type Answer, call, type RunningControl } from './harness.ts'

/** The part of a machine that joins: its key, and what it asks of control. */
export class JoiningHost {
  key = makePrivateKey()
  readonly url: string
  joined: JoinedHost | undefined

  constructor(url = 'https://192.0.2.7:7443') {
    this.url = url
  }

  async join(control: RunningControl, token: string, body: Record<string, unknown> = {}): Promise<Answer> {
    const request = await certificateRequest(this.key)
    const answer = await call(control.url, 'POST', HOST_JOIN_PATH, { token, body: { request, url: this.url, ...body } })
    if (answer.status === 200) this.joined = answer.body as JoinedHost
    return answer
  }

  /** What its agent presents. */
  get identity() {
    const { certificate = '', authority = '' } = this.joined ?? {}
    return { cert: certificate, key: this.key, ca: authority }
  }

  async renew(
    control: RunningControl,
    { certificate = this.identity.cert, audience = RENEWAL_AUDIENCE, expires = '60s', key = makePrivateKey() } = {},
  ) {
    const token = await new SignJWT({ request: await certificateRequest(key) })
      .setProtectedHeader({ alg: 'ES256', x5c: [new X509Certificate(certificate).raw.toString('base64')] })
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime(expires)
      .sign(createPrivateKey(this.key))
    return call(control.url, 'POST', HOST_CERTIFICATE_PATH, { token, body: {} })
  }

  /** Renews its certificate, and uses the new one from now on. */
  async takeRenewed(control: RunningControl): Promise<Answer> {
    const key = makePrivateKey()
    const answer = await this.renew(control, { key })
    if (answer.status === 200 && this.joined !== undefined) {
      this.joined = { ...this.joined, ...(answer.body as SignedCertificate) }
      this.key = key
    }
    return answer
  }

  /** Every credential that somebody with all secrets of this host can sign, by its kind. */
  async forgedTokens(claims: Record<string, unknown>): Promise<Record<string, string>> {
    const { secret = '', edge_secret: edgeSecret = '' } = this.joined ?? {}
    const signed = (key: string, kid?: string) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', ...(kid !== undefined && { kid }) })
        .setIssuedAt()
        .setExpirationTime('60s')
        .sign(Buffer.from(key, 'base64'))
    const x5c = [new X509Certificate(this.identity.cert).raw.toString('base64')]
    const withKey = await new SignJWT({ ...claims, request: await certificateRequest(makePrivateKey()) })
      .setProtectedHeader({ alg: 'ES256', x5c })
      .setIssuedAt()
      .setExpirationTime('60s')
      .setAudience(RENEWAL_AUDIENCE)
      .sign(createPrivateKey(this.key))
    const made: Record<string, string> = { secret, edgeSecret, withKey }
    for (const [name, key] of Object.entries({ secret, edgeSecret })) {
      for (const kid of [undefined, EDGE_KEY_ID, SSH_GRANT_KEY_ID, 'gateway'])
        made[`${name} as ${kid ?? 'control'}`] = await signed(key, kid)
    }
    return made
  }
}
