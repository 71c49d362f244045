/** @module-tag long */
import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, eventually } from '../../test/agent-process.ts'
import { busyboxRoot } from '../../test/busybox-root.ts'
import { tarArchive, type TarItem } from '../../test/tar-archive.ts'
import { TemplateBuilder } from '../../test/template-builder.ts'

let agent: AgentProcess
let builder: TemplateBuilder
let busybox: readonly TarItem[]

beforeAll(async () => {
  busybox = await busyboxRoot()
  agent = await AgentProcess.create()
  builder = new TemplateBuilder(agent)
  await agent.start()
})
afterAll(async () => agent.destroy())

const whole = () => tarArchive([...busybox])

describe('a build that fails', () => {
  const cases: Record<string, [() => Buffer, Record<string, unknown>, RegExp]> = {
    'of a name that leads out': [
      () => tarArchive([{ name: 'a/../../etc/passwd', content: 'x' }]),
      {},
      /^unpacking: a\/\.\.\/\.\.\/etc\/passwd: the name leads out of the image$/,
    ],
    'of a hard link that leads out': [
      () => tarArchive([{ name: 'a', kind: '1', target: '../../etc/passwd' }]),
      {},
      /^unpacking: a: the name leads out of the image$/,
    ],
    'of no archive': [() => Buffer.from('this is no archive'), {}, /^unpacking: .*no tar archive$/],
    'of nothing': [() => Buffer.alloc(0), {}, /^unpacking: .*no tar archive$/],
    'of an archive that is cut': [() => whole().subarray(0, 100_000), {}, /^unpacking: bin\/busybox: .*cut short/],
    'of an archive without an end': [() => tarArchive([...busybox], false), {}, /^unpacking: .*cut short/],
    'of a compressed one that is cut': [
      () => gzipSync(whole()).subarray(0, 90_000),
      {},
      /^reading: the archive is cut short/,
    ],
    'of a size that is a lie': [
      () => tarArchive([{ name: 'f', content: 'x', bytes: 2 ** 32 }]),
      {},
      /^unpacking: f: .*cut short/,
    ],
    'of more than fits': [
      () => tarArchive([{ name: 'big', content: Buffer.alloc(20 * 1024 * 1024, 'x') }]),
      { size_mb: 16 },
      /^unpacking: big: no room left on a disk of 16 MiB/,
    ],
    'of a bomb': [
      () => gzipSync(Buffer.alloc(400 * 1024 * 1024)),
      { size_mb: 16 },
      /^reading: the archive holds far more than fits/,
    ],
    'of another compression': [() => Buffer.from('BZh91AY'), {}, /^reading: bzip2 archives are not taken/],
    'of a start command': [whole, { start_cmd: 'echo why; exit 3' }, /^booting: start_cmd exited with 3: why/],
    'of a start command without a shell': [
      () => tarArchive([{ name: 'file', content: '' }]),
      { start_cmd: 'true' },
      /^booting: start_cmd cannot be run/,
    ],
  }

  it.each(Object.entries(cases))(
    '%s reports the reason with its stage, and leaves nothing behind',
    async (_name, [archive, more, sentence]) => {
      const build = await builder.ended(archive(), more)
      expect(build).toMatchObject({ status: 'failed', template: null, ended_at: expect.any(String) })
      expect(build.error).toMatch(sentence)
      expect(await builder.log(build.id)).toContain(
        `event: done\ndata: {"status":"failed","error":${JSON.stringify(build.error)}}`,
      )
      expect((await readdir(join(agent.dataDir, 'builds', build.id))).toSorted()).toEqual(
        expect.not.arrayContaining(['upload', 'flat', 'rootfs.ext4', 'vm']),
      )
      expect(await agent.create(undefined, {}, build.id)).toMatchObject({ status: 404 })
      expect(await readdir(join(agent.dataDir, 'bakes'))).not.toContain(build.id)
      expect(await agent.vms()).toEqual([])
    },
  )
})

describe('builds', () => {
  it('can be cancelled while they boot', async () => {
    const id = await builder.upload(tarArchive([...busybox]))
    await builder.begin(id, { ready_cmd: 'false' })
    await eventually('a boot', async () => (await builder.get(id)).stage === 'booting')
    expect(await agent.call('DELETE', `/v1/builds/${id}`)).toMatchObject({ status: 204 })
    expect(await builder.get(id)).toMatchObject({ status: 'failed', error: 'booting: cancelled' })
    expect(await agent.vms()).toEqual([])
  })

  it('are limited per workspace, and need an upload', async () => {
    expect(await builder.begin(randomUUID())).toMatchObject({ status: 404 })
    const ids: string[] = []
    for (let i = 0; i < 8; i++) {
      ids.push(await builder.upload(tarArchive([...busybox])))
      expect(await builder.begin(ids.at(-1) ?? '', { ready_cmd: 'false' })).toMatchObject({ status: 202 })
    }
    const more = await builder.upload(tarArchive([...busybox]))
    expect(await builder.begin(more)).toMatchObject({
      status: 429,
      body: { error: 'max builds reached', max: 8, active: 8 },
    })
    for (const id of ids) await agent.call('DELETE', `/v1/builds/${id}`)
    expect(await agent.call('DELETE', `/v1/builds/${more}`)).toMatchObject({ status: 204 })
    expect(await readdir(join(agent.dataDir, 'builds'))).not.toContain(more)
    expect((await builder.list()).filter(({ status }) => status !== 'done' && status !== 'failed')).toEqual([])
  })

  it('keep a deleted template’s bake until its last sandbox is deleted', async () => {
    const { id } = await builder.ended(whole())
    const sandbox = (await agent.created({}, id)).id
    await agent.act(sandbox, 'hibernate')
    expect(await agent.call('DELETE', `/v1/templates/${id}`)).toMatchObject({ status: 204 })
    expect(await agent.call('DELETE', `/v1/templates/${id}`)).toMatchObject({ status: 204 })
    expect(await agent.create(undefined, {}, id)).toMatchObject({ status: 404 })
    expect(await agent.sh(sandbox, 'echo still here')).toBe('still here')
    await agent.delete(sandbox)
    await eventually('no bake', async () => !(await readdir(join(agent.dataDir, 'bakes'))).includes(id))
    expect(await readdir(join(agent.dataDir, 'templates'))).not.toContain(id)
  })
})
