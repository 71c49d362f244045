/** @module-tag long */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentProcess } from '../../test/agent-process.ts'
import { busyboxRoot } from '../../test/busybox-root.ts'
import { tarArchive, type TarItem } from '../../test/tar-archive.ts'
import { TemplateBuilder } from '../../test/template-builder.ts'

/** Number of files of an archive that fits, and of one that does not. The promised limits are 100000 and 1000000. */
const FILES = Number(process.env['OFFSHOOT_BUILD_FILES'] ?? 1000)
const TOO_MANY = Number(process.env['OFFSHOOT_BUILD_EMPTY_FILES'] ?? 5000)
const FILES_IN_FOLDER = 100
/** Disk bytes per inode (`unpack-layers.ts`). */
const BYTES_PER_FILE = 8192
const MIB = 1024 * 1024

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

const files = (count: number, content: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => ({
    name: `many/${Math.floor(index / FILES_IN_FOLDER)}/${index}`,
    content: content(index),
  }))

describe('an archive', () => {
  it(`of ${FILES} files becomes a template with all of them`, async () => {
    const size_mb = Math.max(64, Math.ceil((FILES * BYTES_PER_FILE * 1.1) / MIB))
    const build = await builder.ended(tarArchive([...busybox, ...files(FILES, String)]), { size_mb })
    expect(build).toMatchObject({ status: 'done', error: null })
    const { id } = await agent.created({}, build.id)
    const sums =
      'cd /many; busybox find . -type f | busybox wc -l; busybox find . -type f | busybox xargs cat | busybox wc -c'
    const bytes = Array.from({ length: FILES }, (_, index) => String(index).length).reduce((sum, each) => sum + each, 0)
    expect(await agent.sh(id, sums)).toBe(`${FILES}\n${bytes}`)
    await agent.delete(id)
  })

  it(`of ${TOO_MANY} empty files fails if the disk has too few inodes`, async () => {
    // Half of the disk that this many inodes need.
    const size_mb = Math.max(16, Math.min(1024, Math.floor((TOO_MANY * BYTES_PER_FILE) / 2 / MIB)))
    const build = await builder.ended(tarArchive(files(TOO_MANY, () => '')), { size_mb })
    expect(build).toMatchObject({ status: 'failed', template: null })
    expect(build.error).toMatch(new RegExp(`^unpacking: many/\\d+(/\\d+)?: no room left on a disk of ${size_mb} MiB`))
    expect(await agent.vms()).toEqual([])
  })
})

describe('an image', () => {
  const etcs: Record<string, readonly TarItem[]> = {
    'whose /etc is a file': [{ name: 'etc', content: 'no folder' }],
    'whose /etc leads nowhere': [{ name: 'etc', kind: '2', target: '/not/there' }],
  }
  it.each(Object.entries(etcs))('%s runs', async (_what, items) => {
    const build = await builder.ended(tarArchive([...busybox, ...items]))
    expect(build).toMatchObject({ status: 'done', error: null })
    const { id } = await agent.created({ GIVEN: 'yes' }, build.id)
    expect(await agent.sh(id, 'echo $GIVEN; busybox hostname | busybox wc -l')).toBe('yes\n1')
    await agent.delete(id)
  })

  it('whose /etc is mounted read-only runs, and sleeps and wakes', async () => {
    const seal = 'busybox mount -o bind /etc /etc && busybox mount -o remount,bind,ro /etc'
    const build = await builder.ended(tarArchive([...busybox, { name: 'etc/kept', content: 'as it was' }]), {
      start_cmd: seal,
    })
    expect(build).toMatchObject({ status: 'done', error: null })
    const { id } = await agent.created({}, build.id)
    await agent.act(id, 'hibernate')
    expect(await agent.sh(id, 'cat /etc/kept; touch /etc/new 2>&1 | grep -o Read-only')).toBe('as it wasRead-only')
    await agent.delete(id)
  })
})

/** A server without a C library, which needs only the kernel. Serves one word on port 80. */
const SERVER = `
static long call(long n, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
struct address { unsigned short family, port; unsigned int ip; char zero[8]; };
void _start(void) {
  struct address any = {2, 80 << 8, 0, {0}};
  long listener = call(41, 2, 1, 0);
  call(49, listener, (long)&any, sizeof any);
  call(50, listener, 16, 0);
  for (;;) {
    long client = call(43, listener, 0, 0);
    call(1, client, (long)"warm", 4);
    call(3, client, 0, 0);
  }
}
`

describe('an image that is one program', () => {
  it.skipIf(process.arch !== 'x64')('without shell and C library runs in every sandbox from the start', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'offshoot-static-'))
    let program: Buffer
    try {
      await writeFile(join(folder, 'server.c'), SERVER)
      const options = ['-O1', '-static', '-nostdlib', '-ffreestanding', '-fno-stack-protector', '-fno-builtin']
      await promisify(execFile)('gcc', [...options, '-o', 'server', 'server.c'], { cwd: folder })
      program = await readFile(join(folder, 'server'))
    } finally {
      await rm(folder, { recursive: true })
    }
    const layer = tarArchive([{ name: 'server', mode: 0o755, content: program }])
    const name = createHash('sha256').update(layer).digest('hex')
    const config = JSON.stringify({ config: { Entrypoint: ['/server'] } })
    const manifest = JSON.stringify([{ Config: `${'c'.repeat(64)}.json`, Layers: [`${name}/layer.tar`] }])
    const archive = tarArchive([
      { name: `${name}/layer.tar`, content: layer },
      { name: `${'c'.repeat(64)}.json`, content: config },
      { name: 'manifest.json', content: manifest },
    ])
    const build = await builder.ended(archive)
    expect(build).toMatchObject({ status: 'done', error: null })
    for (let round = 0; round < 2; round++) {
      const { id } = await agent.created({}, build.id)
      expect((await agent.call('GET', `/v1/sandboxes/${id}/listeners`)).body).toMatchObject({ ports: [80] })
      expect(await agent.exec(id, { cmd: 'true' })).toMatchObject({ status: 400 })
      await agent.delete(id)
    }
  })
})
