import { MAX_APP_DOMAINS } from '@offshoot/contract/app-domain'
import { statement } from '../../../platform/db/statement.ts'
import type { AppDomainRow } from './app-domain-row.ts'

/** The select list of an {@link AppDomainRow}. */
export const DOMAIN_COLUMNS = 'domain, token, verified_at, created_at'

export const domainOfApp = statement<AppDomainRow, [appId: string, domain: string]>(
  'domain-of-app',
  `select ${DOMAIN_COLUMNS} from app_domains where app_id = $1 and domain = $2`,
)

/** Serializes additions of domains to one app. No row: the app is gone. */
export const lockAppForDomains = statement<{ readonly id: string }, [appId: string]>(
  'lock-app-for-domains',
  'select id from apps where id = $1 and deletion_due_at is null for no key update',
)

/** Call it after the lock, in the same transaction. No row: the app has the maximum number of domains. */
export const insertDomain = statement<AppDomainRow, [appId: string, domain: string, token: string]>(
  'insert-app-domain',
  `insert into app_domains (app_id, domain, token) select $1::uuid, $2, $3
   where (select count(*) from app_domains where app_id = $1) < ${MAX_APP_DOMAINS}
   returning ${DOMAIN_COLUMNS}`,
)

/** Serializes verifications of the same domain. */
export const lockDomain = statement<object, [domain: string]>(
  'lock-app-domain',
  `select pg_advisory_xact_lock(hashtextextended('app-domain ' || $1, 0))`,
)

/** The domain was verified for this app, so every other app loses it. */
export const releaseDomain = statement<object, [domain: string, appId: string]>(
  'release-app-domain',
  'update app_domains set verified_at = null where domain = $1 and app_id <> $2 and verified_at is not null',
)

/** No row: the domain was deleted meanwhile. */
export const markDomainVerified = statement<AppDomainRow, [appId: string, domain: string]>(
  'mark-app-domain-verified',
  `update app_domains set verified_at = now() where app_id = $1 and domain = $2 returning ${DOMAIN_COLUMNS}`,
)

/** No row: the app did not have the domain. */
export const removeDomain = statement<Pick<AppDomainRow, 'domain'>, [appId: string, domain: string]>(
  'remove-app-domain',
  'delete from app_domains where app_id = $1 and domain = $2 returning domain',
)
