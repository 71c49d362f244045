import { type AppDomain, recordNameOf } from '@offshoot/contract/app-domain'
import { visiblePort, type PreviewAddress } from '@offshoot/contract/preview-address'
import { type CertificateRow, presentCertificate } from '../certificates/certificate-row.ts'

/** The prefix of the DNS record's value, before the domain's own token. */
const VALUE = 'offshoot-app='

export interface AppDomainRow {
  readonly domain: string
  readonly token: string
  readonly verified_at: Date | null
  readonly created_at: Date
}

export function recordValueOf({ token }: Pick<AppDomainRow, 'token'>): string {
  return `${VALUE}${token}`
}

export function presentAppDomain(
  row: AppDomainRow,
  certificate: CertificateRow | undefined,
  address: PreviewAddress,
): AppDomain {
  const { domain, verified_at: verifiedAt, created_at: createdAt } = row
  return {
    domain,
    status: verifiedAt === null ? 'pending' : 'verified',
    record: { type: 'TXT', name: recordNameOf(domain), value: recordValueOf(row) },
    url: `${address.scheme}://${domain}${visiblePort(address)}`,
    created_at: createdAt.toISOString(),
    verified_at: verifiedAt?.toISOString() ?? null,
    certificate: certificate === undefined ? null : presentCertificate(certificate),
  }
}
