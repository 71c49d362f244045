import { randomUUID } from 'node:crypto'
import { at, created, type ListCase, NAMES, type Seed } from './list-objects.ts'

/** The lists of apps and of what belongs to one. */
export async function appLists(seed: Seed): Promise<ListCase[]> {
  const settings = { env: seed.env, port: 3000, max_instances: 1, auto_deploy: false, idle_timeout_seconds: 600 }
  const app = { ...seed.owned, ...settings, git_url: 'https://git.example.com/x', git_branch: 'main' }
  const apps = await seed.three('apps', (name) => ({ ...app, name, ...(name === 'first' && { git_branch: 'next' }) }))
  const [newest = '', older = '', oldest = ''] = apps
  const previews = [1, 2, 3].map((number) => ({ ...app, id: randomUUID(), name: `#${number}`, pull_number: number }))
  for (const preview of previews) {
    await seed.row('apps', { ...preview, parent_id: oldest, git_branch: preview.name, created_at: at(1) })
  }
  const sandbox = await seed.row(
    'sandboxes',
    seed.sandbox({ id: randomUUID(), managed_by: 'proof', status: 'running' }),
  )
  const deploys = ['superseded', 'failed', 'live'].map((status, number) => ({ id: randomUUID(), number, status }))
  for (const { id, number, status } of deploys) {
    const of = { app_id: oldest, origin_id: id, port: 3000, created_at: at(number) }
    const version = { git_ref: `v${number}`, git_commit: `c${number}`, sandbox_id: status === 'live' ? sandbox : null }
    await seed.row('app_deployments', { id, status, ...of, ...version })
  }
  const [oldDeploy = '', failed = '', live = ''] = deploys.map(({ id }) => id)
  await seed.harness.pool.query('update apps set active_deployment_id = $2 where id = $1', [oldest, live])
  const domains = ['a.example.com', 'b.example.com', 'c.example.com']
  for (const domain of domains) {
    // The first two have the same time.
    const times = { created_at: at(domain === 'c.example.com' ? 2 : 1), verified_at: null }
    await seed.row('app_domains', { app_id: oldest, domain, token: 'x', ...times })
  }
  const links = await seed.three('preview_links', () => seed.link({ app_id: oldest }))
  const ofPreviews = previews.map(({ id }) => id).toReversed()
  return [
    {
      path: '/v1/apps',
      by: 'id',
      names: apps,
      filters: {
        'name=FIRST': [oldest],
        'name=%00': [],
        'status=running': [oldest],
        'status=created': [newest, older],
        'status=error': [],
        'git_branch=next': [oldest],
        'git_url=https://git.example.com/y': [],
        ...created(apps),
      },
      add: () => seed.row('apps', { ...app, id: randomUUID(), name: 'later', created_at: at(9) }),
    },
    { path: `/v1/apps/${oldest}/links`, by: 'id', names: links, filters: created(links) },
    {
      path: `/v1/apps/${oldest}/previews`,
      by: 'id',
      names: ofPreviews,
      filters: { 'git_branch=%233': ofPreviews.slice(0, 1), 'status=running': [], [`created_after=${at(1)}`]: [] },
    },
    {
      path: `/v1/apps/${oldest}/deploys`,
      by: 'id',
      names: [live, failed, oldDeploy],
      filters: {
        'status=failed': [failed],
        'git_ref=v0': [oldDeploy],
        'git_commit=c2': [live],
        [`created_before=${at(1)}`]: [oldDeploy],
      },
      add: async () => {
        const of = { app_id: oldest, origin_id: live, port: 3000, git_ref: 'main', created_at: at(9) }
        await seed.row('app_deployments', { id: randomUUID(), status: 'failed', ...of })
      },
    },
    {
      path: `/v1/apps/${oldest}/domains`,
      by: 'domain',
      names: domains,
      filters: {
        'domain=B.example.com': ['b.example.com'],
        'status=verified': [],
        [`created_after=${at(1)}`]: ['c.example.com'],
      },
      add: () => seed.row('app_domains', { app_id: oldest, domain: 'd.example.com', token: 'x', created_at: at(9) }),
    },
    await installationList(seed),
  ]
}

async function installationList(seed: Seed): Promise<ListCase> {
  const { rows } = await seed.harness.pool.query<{ id: number }>(
    `insert into git_installations (installation_id, workspace_id, account_login, account_type, created_at)
     select coalesce(max(installation_id), 0) + n, $1, 'Login' || n, 'User', $2 from generate_series(1, 3) n
     left join git_installations on true group by n returning installation_id::int as id`,
    [seed.tenant.workspaceId, at(1)],
  )
  const ids = rows.map(({ id }) => String(id)).toSorted((a, b) => Number(b) - Number(a))
  return {
    path: '/v1/gitprovider/installations',
    by: 'installation_id',
    names: ids,
    filters: { 'account_login=login3': ids.slice(0, 1), [`created_after=${at(1)}`]: [] },
  }
}

/** As SSH sends an Ed25519 key. */
const SSH_KEY = Buffer.from('AAAAC3NzaC1lZDI1NTE5AAAAIAb8SsGZ5T3oRfPrl7o38IPvC3su1dOHNcBHz5ZCUlUJ', 'base64')

/** The lists of people: keys, members, invitations and workspaces. */
export async function orgLists(seed: Seed): Promise<ListCase[]> {
  const { tenant } = seed
  const prefixes = NAMES.map(() => `ofs_${randomUUID().slice(0, 8)}`)
  for (const [index, prefix] of prefixes.entries()) {
    const times = { created_at: at(index), expires_at: index === 1 ? at(5) : null }
    await seed.row('api_keys', {
      ...seed.owned,
      prefix,
      hash: '',
      name: `k${index}`,
      created_by: tenant.userId,
      ...times,
    })
  }
  const tokens = prefixes.toReversed()
  const sshKeys: string[] = []
  for (const [index, fingerprint] of ['SHA256:a', 'SHA256:b', 'SHA256:c'].entries()) {
    await seed.row('ssh_keys', { user_id: tenant.userId, name: 'x', blob: SSH_KEY, fingerprint, created_at: at(index) })
    sshKeys.unshift(fingerprint)
  }
  const emails = NAMES.map((name) => `${name}@${tenant.workspaceId}.example.com`)
  const users: string[] = []
  for (const [index, email] of emails.entries()) {
    const id = await seed.row('user', { id: randomUUID(), name: 'x', email, emailVerified: true })
    // Microseconds, of which a cursor has only the milliseconds.
    const createdAt = `2026-01-01T00:00:0${index}.123456Z`
    const role = index === 0 ? 'admin' : 'member'
    await seed.row('member', { id: randomUUID(), organizationId: tenant.workspaceId, userId: id, role, createdAt })
    users.push(id)
  }
  const invites = await seed.three('invitations', (name) => ({
    ...seed.owned,
    email: `${name}@example.com`,
    role: name === 'first' ? 'admin' : 'member',
    token_hash: Buffer.from(randomUUID()),
    expires_at: new Date(Date.now() + 3_600_000),
  }))
  const slugs = NAMES.map((name) => `${name}-${tenant.workspaceId}`)
  for (const [index, slug] of slugs.entries()) {
    const id = await seed.row('organization', { id: randomUUID(), name: slug, slug, createdAt: at(index) })
    const role = index === 0 ? 'admin' : 'member'
    await seed.row('member', {
      id: randomUUID(),
      organizationId: id,
      userId: tenant.userId,
      role,
      createdAt: at(index),
    })
  }
  const { rows } = await seed.harness.pool.query<{ slug: string }>('select slug from organization where id = $1', [
    tenant.workspaceId,
  ])
  const own = rows.map(({ slug }) => slug)
  const org = `/v1/orgs/${tenant.workspaceId}`
  return [
    {
      path: '/v1/me/ssh-keys',
      by: 'fingerprint',
      names: sshKeys,
      credential: 'jwt',
      filters: {
        'fingerprint=SHA256:b': ['SHA256:b'],
        'fingerprint=nothing': [],
        [`created_after=${at(0)}`]: sshKeys.slice(0, 2),
        [`created_before=${at(1)}`]: sshKeys.slice(2),
      },
    },
    {
      path: '/v1/me/tokens',
      only: `created_before=${at(60)}`,
      by: 'prefix',
      names: tokens,
      credential: 'jwt',
      filters: {
        'name=k1': tokens.slice(1, 2),
        'expired=true': tokens.slice(1, 2),
        'expired=false&name=k1': [],
        'created_by=nobody': [],
        [`created_after=${at(0)}`]: tokens.slice(0, 2),
      },
    },
    {
      path: `${org}/members`,
      by: 'user_id',
      names: [...users, tenant.userId],
      credential: 'jwt',
      filters: {
        'role=admin': users.slice(0, 1),
        'role=owner': [tenant.userId],
        [`email=${emails[1]?.toUpperCase()}`]: users.slice(1, 2),
      },
    },
    {
      path: `${org}/invites`,
      by: 'id',
      names: invites,
      credential: 'jwt',
      filters: { 'role=admin': invites.slice(2), 'email=FIRST@example.com': invites.slice(2), ...created(invites) },
    },
    {
      path: '/v1/orgs',
      by: 'slug',
      names: [...slugs, ...own],
      credential: 'jwt',
      filters: { 'role=admin': slugs.slice(0, 1), [`slug=${slugs[1]}`]: slugs.slice(1, 2), 'name=none': [] },
    },
  ]
}
