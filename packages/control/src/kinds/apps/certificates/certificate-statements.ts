import { statement } from '../../../platform/db/statement.ts'
import type { CertificateRow } from './certificate-row.ts'

const COLUMNS = 'domain, source, fingerprint, ends_at, error, due_at'
/** Seconds after an attempt before an owner's request starts another one, because authorities rate-limit failures. */
const ASKED_AGAIN_SECONDS = 300

export const certificatesOfApp = statement<CertificateRow, [appId: string]>(
  'certificates-of-app',
  `select ${COLUMNS} from app_certificates where app_id = $1`,
)

export const certificateOf = statement<CertificateRow, [appId: string, domain: string]>(
  'certificate-of',
  `select ${COLUMNS} from app_certificates where app_id = $1 and domain = $2`,
)

/** Replaces any certificate of the domain. A process that works on an order loses its claim. */
export const giveCertificate = statement<
  never,
  [appId: string, domain: string, chain: string, key: Buffer, fingerprint: string, endsAt: Date]
>(
  'give-certificate',
  `insert into app_certificates (app_id, domain, source, chain, key, fingerprint, ends_at)
   select app_id, domain, 'given', $3, $4, $5, $6 from app_domains where app_id = $1 and domain = $2
   on conflict (app_id, domain) do update set source = 'given', chain = $3, key = $4, fingerprint = $5, ends_at = $6,
     order_url = null, order_key = null, challenge_token = null, challenge_answer = null, failures = 0, error = null,
     tried_at = null, due_at = null, creator = null`,
)

/** No row: the owner has uploaded none. */
export const takeGivenCertificate = statement<{ domain: string }, [appId: string, domain: string]>(
  'take-given-certificate',
  `delete from app_certificates where app_id = $1 and domain = $2 and source = 'given' returning domain`,
)

/** The owner asks for a new attempt: earlier than the next automatic one, also after control has stopped trying. */
export const orderSooner = statement<never, [appId: string, domain: string]>(
  'order-certificate-sooner',
  `update app_certificates set failures = least(failures, 3),
     due_at = greatest(now(), tried_at + interval '${ASKED_AGAIN_SECONDS} seconds')
   where app_id = $1 and domain = $2 and source = 'acme' and error is not null and creator is null`,
)

/** The certificate of the app that is served at the domain; for the edge. */
export const servedCertificate = statement<
  { readonly fingerprint: string; readonly chain: string; readonly key: Buffer },
  [domain: string]
>(
  'served-certificate',
  `select c.fingerprint, c.chain, c.key from app_certificates c join app_domains d using (app_id, domain)
   where c.domain = $1 and d.verified_at is not null and c.fingerprint is not null`,
  // All three are written together.
  { notNull: ['fingerprint', 'chain', 'key'] },
)

/** The response to an authority's challenge with this token. */
export const acmeAnswer = statement<{ readonly answer: string }, [domain: string, token: string]>(
  'acme-answer',
  `select challenge_answer as answer from app_certificates c join app_domains d using (app_id, domain)
   where c.domain = $1 and c.challenge_token = $2 and d.verified_at is not null`,
  // Written together with the token.
  { notNull: ['answer'] },
)
