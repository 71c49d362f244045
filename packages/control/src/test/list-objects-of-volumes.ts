import { created, type ListCase, type Seed } from './list-objects.ts'

/** The lists of volumes and their snapshots. */
export async function volumeLists(seed: Seed): Promise<ListCase[]> {
  const fields = { size_mb: 64, status: 'ready' }
  const volumes = await seed.three('volumes', (name) => ({ ...seed.placed, ...fields, kind: 'volume', name }))
  const { rows } = await seed.harness.pool.query<{ name: string }>(
    'select name from volumes where id = any($1) order by created_at desc, id desc',
    [volumes],
  )
  const names = rows.map(({ name }) => name)
  await seed.harness.pool.query(
    `update sandboxes set volumes = '[{"name":"first","read_only":false}]' where workspace_id = $1 and template = 'own'`,
    [seed.tenant.workspaceId],
  )
  const copy = { ...seed.placed, ...fields, kind: 'snapshot', name: 'first' }
  const snapshots = await seed.three('volumes', () => copy)
  return [
    {
      path: '/v1/volumes',
      by: 'name',
      names,
      filters: {
        'name=second': ['second'],
        'attached=true': ['first'],
        'attached=no': names.filter((name) => name !== 'first'),
        ...created(names),
      },
    },
    { path: '/v1/volumes/first/snapshots', by: 'id', names: snapshots, filters: created(snapshots) },
  ]
}
