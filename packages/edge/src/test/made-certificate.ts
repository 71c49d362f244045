import { randomBytes, webcrypto } from 'node:crypto'
// The x509 library below needs this import first.
// oxlint-disable-next-line import/no-unassigned-import
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import type { Pem } from '../certificates/local-authority.ts'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const DAY_MS = 24 * 60 * 60_000

/** Makes a self-signed certificate. @param days first and last day of its validity, relative to now */
export async function madeCertificate(
  names: readonly string[],
  days: readonly [number, number] = [-1, 30],
): Promise<Pem> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const [notBefore, notAfter] = days.map((day) => new Date(Date.now() + day * DAY_MS)) as [Date, Date]
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: `01${randomBytes(15).toString('hex')}`,
    name: 'CN=Somebody else',
    notBefore,
    notAfter,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value })))],
  })
  const key = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')
  return { cert: `${certificate.toString('pem')}\n`, key: `${key}\n` }
}
