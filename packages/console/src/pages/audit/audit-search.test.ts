import { describe, expect, it } from 'vitest'
import { auditQuery, auditSearch } from './audit-search.ts'

describe('the filters of the audit log', () => {
  it('become the query of the API, with both days included', () => {
    const search = auditSearch({ action: 'token.created', kind: 'token', after: '2026-01-31', before: '2026-02-01' })
    expect(auditQuery(search)).toEqual({
      action: 'token.created',
      target_kind: 'token',
      created_after: '2026-01-31T00:00:00.000Z',
      created_before: '2026-02-01T23:59:59.999Z',
    })
  })

  it('leave out what is empty, or no text or day', () => {
    expect(auditQuery(auditSearch({ action: ' ', actor: 7, after: 'yesterday', other: 'x' }))).toEqual({})
  })
})
