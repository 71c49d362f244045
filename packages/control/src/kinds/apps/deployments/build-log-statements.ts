import { statement } from '../../../platform/db/statement.ts'

export const appendBuildLog = statement<never, [deploymentId: string, text: string]>(
  'append-build-log',
  `insert into app_build_logs (deployment_id, text) select $1, $2 where exists (select from app_deployments where id = $1)`,
)

/** `number` is text, because it is sent as an event id. */
export interface BuildLogRow {
  readonly number: string
  readonly text: string
}

/** The pieces after the one with that number, in order. */
export const buildLogAfter = statement<BuildLogRow, [deploymentId: string, after: string, limit: number]>(
  'build-log-after',
  `select number::text, text from app_build_logs where deployment_id = $1 and number > $2::text::bigint
   order by app_build_logs.number limit $3`,
)
