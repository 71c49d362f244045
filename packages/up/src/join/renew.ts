import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { signedCertificate } from '@offshoot/contract/edge-host'
import { HOST_CERTIFICATE_PATH, RENEWAL_AUDIENCE, RENEWAL_SECONDS } from '@offshoot/contract/host-enrolment'
import { Deadline } from '@offshoot/kit/deadline'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { certificateRequest, makePrivateKey } from '@offshoot/kit/x509/certificate-request'
import { SignJWT } from 'jose'
import type { DataLayout } from '../base/data-layout.ts'
import { askControl } from './ask-control.ts'
import { hostFiles, type Membership } from './membership.ts'

const ANSWER_WITHIN_MS = 30_000
/** Milliseconds between two looks at the certificate, and between two attempts to renew it. */
const LOOK_MS = 60_000

/**
 * Renews the certificate of this host whenever half of its time is over, until `stopped` aborts. The agent rereads the
 * file.
 */
export async function keepCertificate(
  layout: DataLayout,
  member: Membership,
  tell: (line: string) => void,
  stopped: AbortSignal,
): Promise<void> {
  let told = ''
  while (!stopped.aborted) {
    try {
      if (await isDue(layout)) await renewCertificate(layout, member, stopped)
      told = ''
    } catch (error) {
      const { message } = error as Error
      if (!stopped.aborted && message !== told) tell(`The certificate of this host is not renewed: ${message}`)
      told = message
    }
    await delay(LOOK_MS, undefined, { signal: stopped }).catch(() => undefined)
  }
}

async function isDue(layout: DataLayout): Promise<boolean> {
  const { validFromDate, validToDate } = new X509Certificate(await readFile(hostFiles(layout).identity))
  return Date.now() > (validFromDate.getTime() + validToDate.getTime()) / 2
}

/** Has control certify a new key. The present one proves who asks. @throws SetupFailure, JoinRefused */
export async function renewCertificate(layout: DataLayout, member: Membership, cancelled: AbortSignal): Promise<void> {
  const files = hostFiles(layout)
  const present = await readFile(files.identity, 'utf8')
  const key = makePrivateKey()
  const token = await renewalToken(present, await certificateRequest(key))
  const deadline = Deadline.after(ANSWER_WITHIN_MS, `an answer of ${member.control_url}`, cancelled)
  const answer = await askControl(`${member.control_url}${HOST_CERTIFICATE_PATH}`, { token }, deadline)
  const { certificate, authority } = signedCertificate.parse(answer)
  await writeFileDurably(files.authority, authority)
  await writeFileDurably(files.identity, `${key}${certificate}`)
}

/** @param identity PEM with the present key and its certificate */
export async function renewalToken(identity: string, request: string): Promise<string> {
  const certificate = new X509Certificate(identity)
  return new SignJWT({ request })
    .setProtectedHeader({ alg: 'ES256', x5c: [certificate.raw.toString('base64')] })
    .setAudience(RENEWAL_AUDIENCE)
    .setIssuedAt()
    .setExpirationTime(`${RENEWAL_SECONDS}s`)
    .sign(createPrivateKey(identity))
}
