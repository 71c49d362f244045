import { X509Certificate } from 'node:crypto'

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** @param pem any number of certificates */
export function certificatesIn(pem: string): X509Certificate[] {
  return (pem.match(PEM_CERTIFICATE) ?? []).map((each) => new X509Certificate(each))
}

/** Whether one of the authorities has signed the certificate. */
export function isIssuedBy(certificate: X509Certificate, authorities: readonly X509Certificate[]): boolean {
  return authorities.some((authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey))
}

/**
 * The one DNS name of a certificate that is valid now; `null`: it is not valid, or has other names.
 * @param graceMs also for this many milliseconds after it has expired
 */
export function validNameIn(certificate: X509Certificate, graceMs = 0): string | null {
  const now = Date.now()
  const { validFromDate, validToDate, subjectAltName = '' } = certificate
  const isValid = validFromDate.getTime() <= now && now < validToDate.getTime() + graceMs
  return isValid && !certificate.ca ? (/^DNS:([a-z0-9.-]+)$/.exec(subjectAltName)?.[1] ?? null) : null
}
