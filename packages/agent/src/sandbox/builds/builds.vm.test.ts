/** @module-tag long */
import { createHash, randomUUID } from 'node:crypto'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess, OTHER_WORKSPACE } from '../../test/agent-process.ts'
import { busyboxRoot } from '../../test/busybox-root.ts'
import { paxHeader, tarArchive, type TarItem } from '../../test/tar-archive.ts'
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

async function built(items: readonly TarItem[], more: Record<string, unknown> = {}): Promise<string> {
  const build = await builder.ended(tarArchive([...busybox, ...items]), more)
  expect(build).toMatchObject({
    status: 'done',
    error: null,
    percent: 100,
    template: { name: 'mine', is_global: false },
  })
  return build.id
}

/** The trimmed output of a command in a new sandbox of a template. */
async function shIn(template: string, cmd: string): Promise<string> {
  const { id } = await agent.created({}, template)
  return agent.sh(id, cmd)
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

const lower = (): TarItem[] => [
  ...busybox,
  { name: 'gone/one', content: '1' },
  { name: 'gone/two', content: '2' },
  { name: 'emptied/old/file', content: '' },
  { name: 'kind', content: 'a file' },
]

describe('a template that is built', () => {
  it('preserves owners, modes, times, links, holes and attributes of a tar', { tags: ['long'] }, async () => {
    const holed = Buffer.alloc(8 * 1024 * 1024)
    holed.write('at the end', holed.length - 10)
    const id = await built([
      { name: './', kind: '5', mode: 0o755 },
      { name: 'data/', kind: '5', mode: 0o1777, uid: 7, gid: 8 },
      { name: 'data/file', mode: 0o4750, uid: 1000, gid: 1001, content: 'content' },
      { name: 'data/hard', kind: '1', target: 'data/file' },
      { name: 'data/away', kind: '2', target: '/data/file' },
      { name: 'data/fifo', kind: '6', mode: 0o600 },
      { name: 'data/null', kind: '3' },
      { name: 'deep/er/and/deeper/file', content: 'x' },
      { name: '/absolute', content: 'inside' },
      { name: 'aside', kind: '2', target: '/data' },
      { name: 'aside/through', content: 'by a link' },
      { name: 'holed', content: holed },
      paxHeader({ path: `long/${'n'.repeat(200)}`, uid: '123456', 'SCHILY.xattr.user.note': 'kept' }),
      { name: 'short', content: 'long' },
    ])
    const said = await shIn(
      id,
      `cd /data; stat -c '%n %a %u %g %h %Y' . file away fifo; cat away through; ls null 2>&1 | cat;
       cat /absolute /deep/er/and/deeper/file /long/*; stat -c '%u' /long/*; stat -c '%s %b' /holed; ls -d /lost+found`,
    )
    expect(said.split('\n')).toEqual([
      expect.stringMatching(/^\. 1777 7 8 2 /),
      'file 4750 1000 1001 2 1700000000',
      expect.stringMatching(/^away 777 0 0 1 /),
      expect.stringMatching(/^fifo 600 0 0 1 /),
      'contentby a linkls: null: No such file or directory',
      'insidexlong123456',
      expect.stringMatching(/^8388608 (8|16)$/),
      '/lost+found',
    ])
    expect(await builder.log(id)).toContain('1 device nodes left out')
  })

  it('has its server running in every sandbox from the start, and a log of its build', async () => {
    const id = await built([{ name: 'www/index.html', content: 'warm\n' }], {
      start_cmd: 'echo starting; echo $$ > /pid; exec httpd -f -p 80 -h /www',
      ready_cmd: 'nc 127.0.0.1 80 < /dev/null',
    })
    for (let round = 0; round < 2; round++) {
      expect(
        await shIn(id, 'printf "GET / HTTP/1.0\\r\\n\\r\\n" | nc 127.0.0.1 80 | grep warm; cat /proc/$(cat /pid)/comm'),
      ).toMatch(/^warm\n(busybox|httpd)$/)
    }
    const log = await builder.log(id)
    expect(log).toMatch(/id: 1\nevent: line\ndata: \{"ts":"[^"]+","stage":"reading","percent":1,/)
    expect(log).toContain('"line":"starting"')
    expect(log.endsWith('event: done\ndata: {"status":"done","error":null}\n\n')).toBe(true)
  })

  it('runs without a shell, a libc or an /etc, and is visible to its workspace only', { tags: ['long'] }, async () => {
    const [, program] = busybox
    const build = await builder.ended(tarArchive([{ ...(program ?? { name: '' }), name: 'program' }]))
    expect(build).toMatchObject({ status: 'done' })
    const { id } = await agent.created({}, build.id)
    expect(await agent.exec(id, { cmd: 'true' })).toMatchObject({ status: 400 })
    const foreign = { body: { id: randomUUID(), template: build.id, env: {} }, workspace: OTHER_WORKSPACE }
    expect(await agent.call('POST', '/v1/sandboxes', foreign)).toMatchObject({ status: 404 })
    expect(await agent.call('GET', `/v1/builds/${build.id}`, { workspace: OTHER_WORKSPACE })).toMatchObject({
      status: 404,
    })
  })
})

describe('an image', () => {
  const config = {
    config: {
      Env: ['FROM=image', 'KEEP=1'],
      WorkingDir: '/work/here',
      User: '1000:1000',
      Cmd: ['/bin/sh', '-c', 'echo $FROM > /tmp/started'],
    },
  }
  const upper = [
    { name: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/work:/bin/sh\n' },
    { name: 'tmp/', kind: '5', mode: 0o1777 },
    { name: 'gone/.wh.one', content: '' },
    { name: 'emptied/.wh..wh..opq', content: '' },
    { name: 'emptied/new', content: '' },
    { name: 'kind/', kind: '5', mode: 0o755 },
  ]
  function dockerArchive(): Buffer {
    const [first, second] = [tarArchive(lower()), tarArchive(upper)]
    const text = Buffer.from(JSON.stringify(config))
    return tarArchive([
      { name: `${sha256(first)}/`, kind: '5' },
      { name: `${sha256(first)}/layer.tar`, content: first },
      { name: `${sha256(second)}/layer.tar`, content: second },
      { name: `${sha256(text)}.json`, content: text },
      {
        name: 'manifest.json',
        content: JSON.stringify([
          { Config: `${sha256(text)}.json`, Layers: [first, second].map((l) => `${sha256(l)}/layer.tar`) },
        ]),
      },
    ])
  }

  function ociArchive(): Buffer {
    const blobs = [
      gzipSync(tarArchive(lower())),
      zstdCompressSync(tarArchive(upper)),
      Buffer.from(JSON.stringify(config)),
    ]
    const [first, second, third] = blobs.map((blob) => ({ digest: `sha256:${sha256(blob)}` }))
    const manifest = Buffer.from(JSON.stringify({ config: third, layers: [first, second] }))
    return tarArchive([
      { name: './', kind: '5' },
      { name: './oci-layout', content: '{}' },
      { name: './index.json', content: JSON.stringify({ manifests: [{ digest: `sha256:${sha256(manifest)}` }] }) },
      ...[...blobs, manifest].map((blob) => ({ name: `./blobs/sha256/${sha256(blob)}`, content: blob })),
    ])
  }

  it.each([
    ['docker save, compressed', () => gzipSync(dockerArchive())],
    ['an OCI layout', ociArchive],
  ])('of %s provides its layers, variables, folder, user and command', { tags: ['long'] }, async (_name, archive) => {
    const build = await builder.ended(archive())
    expect(build).toMatchObject({ status: 'done', error: null })
    expect(build.template?.meta).toMatchObject({ user: '1000', working_dir: '/work/here', env: ['FROM', 'KEEP'] })
    const { id } = await agent.created({ FROM: 'sandbox' }, build.id)
    expect(
      await agent.sh(
        id,
        'echo $FROM $KEEP; pwd; id -u; cat /tmp/started; ls / /gone /emptied -d /kind; ls /gone /emptied',
      ),
    ).toBe(
      [
        'sandbox 1',
        '/work/here',
        '1000',
        'image',
        '/',
        '/emptied',
        '/gone',
        '/kind',
        '/emptied:',
        'new',
        '',
        '/gone:',
        'two',
      ].join('\n'),
    )
    expect((await agent.exec(id, { cmd: 'id -u; pwd', user: 'root' })).body.stdout).toBe('0\n/\n')
    const { children } = await agent.forked(id)
    expect(await agent.sh(children[0]?.id ?? '', 'id -u; echo $FROM')).toBe('1000\nsandbox')
  })

  it('whose own command fails becomes a template without it', { tags: ['long'] }, async () => {
    const text = Buffer.from(JSON.stringify({ config: { Cmd: ['/bin/false'] } }))
    const layer = tarArchive([...busybox])
    const build = await builder.ended(
      tarArchive([
        { name: `${'a'.repeat(64)}/layer.tar`, content: layer },
        { name: `${'b'.repeat(64)}.json`, content: text },
        {
          name: 'manifest.json',
          content: JSON.stringify([{ Config: `${'b'.repeat(64)}.json`, Layers: [`${'a'.repeat(64)}/layer.tar`] }]),
        },
      ]),
    )
    expect(build).toMatchObject({ status: 'done' })
    expect(await builder.log(build.id)).toContain('sandboxes start without it')
  })
})
