import type { appListQuery } from '@offshoot/contract/app'
import type { RawBuilder } from 'kysely'
import type { z } from 'zod'
import { createdBetween, equals } from '../../../platform/http/page-of.ts'
import { APP_STATUS } from './app-row.ts'

/** The conditions of {@link appListQuery} on the table `apps`. No two apps have names that differ only in case. */
export function appFilters(query: z.infer<typeof appListQuery>): RawBuilder<unknown>[] {
  return [
    ...equals('lower(apps.name)', query.name?.toLowerCase()),
    ...equals(APP_STATUS, query.status),
    ...equals('apps.git_url', query.git_url),
    ...equals('apps.git_branch', query.git_branch),
    ...createdBetween('apps.created_at', query),
  ]
}
