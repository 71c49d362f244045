import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Harness } from '../../test/harness.ts'
import { reportGlobalTemplates, templateByName } from './template-statements.ts'

const WORKSPACE = '00000000-0000-4000-8000-000000000000'
const BEFORE = new Date('2026-01-01T00:00:00.000Z')

describe('the times of a global template', () => {
  let harness: Harness

  beforeAll(async () => {
    harness = await Harness.start()
  })

  afterAll(() => harness.stop())

  const report = async (change: object, meta: object) => {
    const template = { name: 'base', rootfs_path: 'x', size_bytes: 1, cpu: 1, memory_mb: 512, ...change }
    const full = { ...template, meta: { image_digest: 'sha256:1', fingerprint: 'a', ...meta } }
    await reportGlobalTemplates(harness.pool, JSON.stringify([full]))
    const [row] = await templateByName(harness.pool, WORKSPACE, 'base')
    return row
  }
  const reset = () => harness.pool.query('update templates set created_at = $1, updated_at = $1', [BEFORE])

  it('stay when another agent reports the same image', async () => {
    await report({}, {})
    await reset()
    const row = await report({ size_bytes: 2, rootfs_path: 'y' }, { fingerprint: 'b' })
    expect(row).toMatchObject({ rootfs_path: 'y', created_at: BEFORE, updated_at: BEFORE })
  })

  it.each([
    [{}, { image_digest: 'sha256:2' }],
    [{ cpu: 2 }, {}],
    [{ memory_mb: 1024 }, {}],
  ])('show a change of image or size: %j %j', async (change, meta) => {
    await report({}, {})
    await reset()
    const row = await report(change, meta)
    expect(row?.created_at).toEqual(BEFORE)
    expect(row?.updated_at.getTime()).toBeGreaterThan(BEFORE.getTime())
  })
})
