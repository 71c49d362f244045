import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { signedCertificate, trustVersion } from '@offshoot/contract/edge-host'
import { trustVersionOf } from '@offshoot/contract/fleet-identity'
import {
  HOST_CERTIFICATE_PATH,
  HOST_VERSION_PATH,
  RENEWAL_AUDIENCE,
  RENEWAL_SECONDS,
} from '@offshoot/contract/host-enrolment'
import { Deadline } from '@offshoot/kit/deadline'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { certificateRequest, makePrivateKey } from '@offshoot/kit/x509/certificate-request'
import { SignJWT } from 'jose'
import type { DataLayout } from '../base/data-layout.ts'
import { askControl } from './ask-control.ts'
import { hostFiles, type Membership } from './membership.ts'

const ANSWER_WITHIN_MS = 30_000
const VERSION_WITHIN_MS = 5_000
/** Milliseconds between two looks at the certificate, and between two attempts to renew it. */
const LOOK_MS = 20_000

/**
 * Renews the certificate of this host whenever half of its time is over or the fleet trusts others, until `stopped`
 * aborts. The agent rereads the file.
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
      if (await isDue(layout, member, stopped)) await renewCertificate(layout, member, stopped)
      told = ''
    } catch (error) {
      const { message } = error as Error
      if (!stopped.aborted && message !== told) tell(`The certificate of this host is not renewed: ${message}`)
      told = message
    }
    await delay(LOOK_MS, undefined, { signal: stopped }).catch(() => undefined)
  }
}

async function isDue(layout: DataLayout, { control_url: url }: Membership, stopped: AbortSignal): Promise<boolean> {
  const certificate = new X509Certificate(await readFile(hostFiles(layout).identity))
  const { validFromDate, validToDate } = certificate
  if (Date.now() > (validFromDate.getTime() + validToDate.getTime()) / 2) return true
  const wanted = await wantedVersion(url, stopped)
  return wanted !== null && wanted !== trustVersionOf(certificate)
}

/** `null`: control is away, or its version is an earlier one, which counts none. */
async function wantedVersion(url: string, stopped: AbortSignal): Promise<number | null> {
  const signal = AbortSignal.any([AbortSignal.timeout(VERSION_WITHIN_MS), stopped])
  try {
    const answer = await fetch(`${url}${HOST_VERSION_PATH}`, { redirect: 'error', signal })
    return trustVersion.parse(await answer.json()).version
  } catch {
    return null
  }
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
  // The certificate says whom this host trusts, so it comes last.
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
