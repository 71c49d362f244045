import { recordNameOf } from '@offshoot/contract/app-domain'
import type { AppsContext } from '../model/apps-context.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { type AppDomainRow, recordValueOf } from './app-domain-row.ts'
import { lockDomain, markDomainVerified, releaseDomain } from './app-domain-statements.ts'

/**
 * Checks whether the domain's DNS record has the token of this app. If it has, only this app is served at the domain
 * from then on; if not, nothing changes. `null`: the domain was deleted meanwhile.
 */
export async function verifyDomain(
  { database, dnsTexts }: Pick<AppsContext, 'database' | 'dnsTexts'>,
  appId: string,
  row: AppDomainRow,
): Promise<AppDomainRow | null> {
  const found = await dnsTexts.find(recordNameOf(row.domain))
  if (!found.includes(recordValueOf(row))) return row
  return transaction(database.pool, async (client) => {
    await lockDomain(client, row.domain)
    await releaseDomain(client, row.domain, appId)
    const [verified] = await markDomainVerified(client, appId, row.domain)
    return verified ?? null
  })
}
