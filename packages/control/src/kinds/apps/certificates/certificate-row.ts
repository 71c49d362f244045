import type { DomainCertificate } from '@offshoot/contract/app-domain'

/** The public columns of `app_certificates`. */
export interface CertificateRow {
  readonly domain: string
  readonly source: DomainCertificate['source']
  readonly fingerprint: string | null
  readonly ends_at: Date | null
  readonly error: string | null
  readonly due_at: Date | null
}

export function presentCertificate(row: CertificateRow): DomainCertificate {
  return {
    source: row.source,
    status: statusOf(row),
    error: row.error,
    expires_at: row.ends_at?.toISOString() ?? null,
    next_order_at: row.due_at?.toISOString() ?? null,
  }
}

function statusOf({ ends_at: endsAt, error }: CertificateRow): DomainCertificate['status'] {
  if (endsAt !== null) return endsAt.getTime() > Date.now() ? 'ready' : 'expired'
  return error === null ? 'pending' : 'failed'
}
