import { closeSecrets, makeSecrets, sha256 } from '../kinds/databases/model/secrets.ts'
import { call, type Harness, type RunningControl, type Tenant } from './harness.ts'

/** A ready database in a sandbox of a fake agent: only its rows, without a server. */
export async function fakeDatabase(
  harness: Harness,
  { url, control }: RunningControl,
  { key }: Tenant,
): Promise<string> {
  const { body } = await call(url, 'POST', '/v1/sandboxes', { token: key, body: { template: 'postgres-16' } })
  const { id } = body as { id: string }
  const secrets = makeSecrets()
  await harness.pool.query(
    `insert into databases (id, workspace_id, size, status, secrets, broker_token_sha256, idle_timeout_seconds)
     select id, workspace_id, '1g', 'ready', $2, $3, 300 from sandboxes where id = $1`,
    [id, closeSecrets(control.databaseSecrets, secrets), sha256(secrets.brokerToken)],
  )
  await harness.pool.query(`update sandboxes set managed_by = 'database', managed_id = id where id = $1`, [id])
  return id
}
