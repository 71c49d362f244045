import { at, type ListCase, type Seed } from './list-objects.ts'

/** Lists of operators, which no workspace owns. */
export async function operatorLists(seed: Seed): Promise<ListCase[]> {
  const operators = await seed.three('operators', (name) => ({ name, role: name === 'first' ? 'viewer' : 'operator' }))
  const [newest = '', , oldest = ''] = operators
  const prefixes = ['ofs_op_ccccccc3', 'ofs_op_bbbbbbb2', 'ofs_op_aaaaaaa1']
  for (const [index, prefix] of prefixes.entries()) {
    const created_at = at(prefixes.length - index)
    const expires_at = index === 0 ? created_at : null
    await seed.row('operator_keys', { prefix, operator_id: newest, hash: '', name: prefix, created_at, expires_at })
  }
  const shared = { credential: 'operator', takesCursorsOfOthers: true } as const
  return [
    {
      ...shared,
      path: '/v1/admin/operators',
      by: 'id',
      names: operators,
      only: 'created_before=2026-01-02T00:00:00Z',
      filters: { 'role=viewer': [oldest], 'role=owner': [], 'name=first': [oldest], 'name=%00': [] },
    },
    {
      ...shared,
      path: `/v1/admin/operators/${newest}/keys`,
      by: 'prefix',
      names: prefixes,
      filters: {
        'expired=true': prefixes.slice(0, 1),
        'expired=false': prefixes.slice(1),
        [`name=${prefixes[1]}`]: prefixes.slice(1, 2),
        'name=%00': [],
        [`created_after=${at(1)}`]: prefixes.slice(0, 2),
        [`created_before=${at(2)}`]: prefixes.slice(2),
      },
    },
  ]
}
