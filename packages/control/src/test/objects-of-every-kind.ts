import { call, type Harness, type RunningControl, type Tenant } from './harness.ts'
import { lineOf, newPair } from './ssh-proof.ts'

/** Values for the ids in a path. */
export interface Ids {
  readonly [parameter: string]: string
}

/** Path parameters that name no object. */
export const WORDS: Ids = { month: '2026-01', lang: 'python', context_id: 'python' }

/** A path of the OpenAPI document with its parameters filled in. */
export function filledPath(path: string, ids: Ids): string {
  return path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const id = ids[name] ?? WORDS[name]
    if (id === undefined)
      throw new Error(`${path}: say in objects-of-every-kind.ts, and in the test, what {${name}} is`)
    return id
  })
}

/**
 * Makes one object of every kind that a workspace can own. Returns the parameters of paths, by the first segment after
 * `/v1/`.
 */
export async function objectsOfEveryKind(
  { pool }: Harness,
  control: RunningControl,
  owner: Tenant,
): Promise<Record<string, Ids>> {
  const ask = async (method: string, path: string, body?: unknown, token = owner.key) =>
    (await call(control.url, method, path, { token, ...(body !== undefined && { body }) })).body
  const sandbox = await ask('POST', '/v1/sandboxes', { template: 'base', metadata: { of: 'alice' } })
  const snapshot = await ask('POST', `/v1/sandboxes/${sandbox.id}/snapshots`)
  const token = await ask('POST', '/v1/me/tokens', { name: 'k' }, owner.jwt)
  const invite = { email: 'carol@example.com' }
  const invitation = await ask('POST', `/v1/orgs/${owner.workspaceId}/members`, invite, owner.jwt)
  const template = `insert into templates (name, workspace_id, rootfs_path, size_bytes, cpu, memory_mb, meta)
     values ('alices', $1, 'templates/alices/rootfs.ext4', 1, 1, 512, '{}')`
  await pool.query(template, [owner.workspaceId])
  await ask('POST', '/v1/volumes', { name: 'alices', size_mb: 64 })
  await pool.query(`insert into git_installations values (77, $1, 'alices', 'User')`, [owner.workspaceId])
  const app = await ask('POST', '/v1/apps', { name: 'alices', git_url: 'https://git.example.com/x' })
  const domain = `insert into app_domains (app_id, domain, token) values ($1, 'alices.example.com', 'token')`
  await pool.query(domain, [app.id])
  const database = `insert into databases (id, workspace_id, size, status, secrets, broker_token_sha256, idle_timeout_seconds)
     values ($1, $2, '1g', 'ready', '', '', 300)`
  await pool.query(database, [sandbox.id, owner.workspaceId])
  await pool.query(`insert into database_backups values ($1, $2, 'request', '')`, [snapshot.id, sandbox.id])
  const link = await ask('POST', `/v1/sandboxes/${sandbox.id}/ports/3000/links`)
  const appLink = await ask('POST', `/v1/apps/${app.id}/links`)
  const sshKey = await ask('POST', '/v1/me/ssh-keys', { public_key: lineOf(newPair()) }, owner.jwt)
  const hook = await ask('POST', '/v1/webhooks', { url: 'https://example.com/' })
  const delivery = await ask('POST', `/v1/webhooks/${hook.id}/test`)
  const other = { exec_id: 'exec', lang: 'python', port: '3000', name: 'alices', snapshot_id: snapshot.id }
  return {
    sandboxes: { id: sandbox.id, ...other, link_id: link.id },
    snapshots: { id: snapshot.id },
    templates: { ...other, id: snapshot.id },
    builds: { id: snapshot.id },
    volumes: { ...other, id: snapshot.id },
    gitprovider: { id: '77' },
    github: { id: '77' },
    apps: { id: app.id, deployment_id: app.id, path: 'x', domain: 'alices.example.com', link_id: appLink.id },
    databases: { id: sandbox.id, backup: snapshot.id },
    webhooks: { id: hook.id, delivery_id: delivery.id },
    me: { prefix: token.prefix, key_id: sshKey.id },
    orgs: { id: owner.workspaceId, user_id: owner.userId, invite_id: invitation.id, token: 'x'.repeat(32) },
  }
}
