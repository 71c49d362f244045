import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseBuildId, type BuildId } from '@offshoot/contract/ids'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LOWER } from '../bakes/bake-files.ts'
import { DataDir } from '../data-dir/data-dir.ts'
import { Ledger } from '../ledger/ledger.ts'
import { BuiltTemplates } from './built-templates.ts'

let root: string
let dir: DataDir
let templates: BuiltTemplates<object>

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'offshoot-templates-'))
  dir = await DataDir.open(root)
  const ledger = await Ledger.open(dir, pino({ level: 'silent' }), { findLayers: async () => null })
  templates = await BuiltTemplates.open(dir.templates, ledger)
})
afterAll(async () => rm(root, { recursive: true }))

describe('the disk of a built template', () => {
  it('is not treated as a disk without a lower layer if that layer cannot be examined', async () => {
    const id = parseBuildId(randomUUID()) as BuildId
    const folder = join(dir.templates, id)
    await mkdir(folder)
    expect(await templates.disk(id)).toMatchObject({ lower: null })
    await writeFile(join(folder, LOWER), '')
    expect(await templates.disk(id)).toMatchObject({ lower: join(folder, LOWER) })
    await rename(folder, `${folder}.away`)
    await symlink(id, folder)
    await expect(templates.disk(id)).rejects.toMatchObject({ code: 'ELOOP' })
  })
})
