import { hasNoCreator } from '../../../platform/db/abandoned.ts'
import { statement } from '../../../platform/db/statement.ts'
import type { OrderRow } from './order-statements.ts'

/** Inserts an order for the API's own name, unless it has one. */
export const wantOwnCertificate = statement<never, [name: string]>(
  'want-own-certificate',
  `insert into app_certificates (domain, source, due_at) values ($1, 'acme', now()) on conflict do nothing`,
)

const DUE = `app_certificates c where c.app_id is null and c.due_at <= now() and (c.creator is null or ${hasNoCreator('c')})`

export const dueOwnOrderIds = statement<{ id: string }, [name: string]>(
  'due-own-certificate-order-ids',
  `select c.id from ${DUE} and c.domain = $1`,
)

/** Claims the order for the API's own name, as {@link claimOrder} does for a domain. */
export const claimOwnOrder = statement<OrderRow, [id: string, creator: number, name: string]>(
  'claim-own-certificate-order',
  `with due as materialized (select c.id as due_id from ${DUE} and c.id = $1 and c.domain = $3 for update skip locked)
   update app_certificates c set creator = $2, tried_at = now() from due where c.id = due_id
   returning c.id, c.domain, null::uuid as workspace_id, c.order_url, c.order_key`,
)

/** No row: there is none, or it has this fingerprint. */
export const newOwnCertificate = statement<
  { readonly fingerprint: string; readonly chain: string; readonly key: Buffer },
  [name: string, knownFingerprint: string]
>(
  'new-own-certificate',
  `select fingerprint, chain, key from app_certificates
   where app_id is null and domain = $1 and fingerprint is not null and fingerprint <> $2`,
  // All three are written together.
  { notNull: ['fingerprint', 'chain', 'key'] },
)

/** The response to the authority's challenge of the API's own name. */
export const ownAcmeAnswer = statement<{ readonly answer: string }, [name: string, token: string]>(
  'own-acme-answer',
  `select challenge_answer as answer from app_certificates
   where app_id is null and domain = $1 and challenge_token = $2`,
  // Written together with the token.
  { notNull: ['answer'] },
)

export const ownOrderFailures = statement<{ readonly failures: number }, [name: string]>(
  'own-certificate-order-failures',
  'select failures from app_certificates where app_id is null and domain = $1',
)
