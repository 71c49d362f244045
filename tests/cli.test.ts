import { randomBytes } from 'node:crypto'
import { chmod, lstat, mkdir, readdir, readFile, readlink, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CommandLine } from './setup/cli.ts'
import { CuttingProxy } from './setup/cutting-proxy.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { borrow, giveBack } from './setup/server-pool.ts'

let offshoot: Offshoot
let cli: CommandLine
let id: string
beforeAll(async () => {
  offshoot = await borrow()
  cli = await CommandLine.of(offshoot)
  id = await cli.ok(['sandbox', 'create', 'one', '--template', 'minimal', '--ttl', '2h', '-m', 'team=blue'])
})
afterAll(async () => {
  await cli.remove()
  await giveBack()
})

describe('sandboxes', () => {
  it('are listed for people, for programs, and as ids', async () => {
    expect(await cli.ok(['sandbox', 'ls'])).toMatch(new RegExp(`${id} +one +minimal +running`))
    expect(await cli.json(['sandbox', 'ls', '-m', 'team=blue'])).toMatchObject([
      { id, metadata: { name: 'one', team: 'blue' } },
    ])
    expect(await cli.ok(['sandbox', 'ls', '-q', '--status', 'running'])).toBe(id)
    expect(await cli.run(['sandbox', 'ls', '--status', 'paused'])).toMatchObject({ code: 0, stdout: '' })
  })

  it('run commands, and the program ends with their exit codes', async () => {
    const ran = await cli.spawn(['sandbox', 'exec', 'one', 'echo out; echo err >&2; exit 7'])
    expect(ran).toEqual({ code: 7, stdout: 'out\n', stderr: 'err\n' })
    expect(await cli.ok(['sandbox', 'exec', id.slice(0, 8), 'printf', '%s|', 'a b', '$HOME'])).toBe('a b|$HOME|')
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
    const copied = await cli.ok(['sandbox', 'exec', '-i', 'one', 'od', '-An', '-v', '-tx1'], { stdin: bytes })
    expect(copied.replaceAll(/\s/g, '')).toBe(bytes.toString('hex'))
  })

  it('change state, by name and by a prefix of the id', async () => {
    const status = async () => (await cli.json(['sandbox', 'ls', '-m', 'name=one']))[0].status
    for (const [verb, becomes] of [
      ['pause', 'paused'],
      ['resume', 'running'],
      ['hibernate', 'hibernated'],
      ['wake', 'running'],
    ] as const) {
      await cli.ok(['sandbox', verb, verb === 'wake' ? id.slice(0, 8) : 'one'])
      expect(await status()).toBe(becomes)
    }
    expect(await cli.json(['sandbox', 'events', 'one'])).toEqual(
      expect.arrayContaining([expect.objectContaining({ type: 'sandbox.woken' })]),
    )
    expect(await cli.ok(['sandbox', 'logs', 'one'])).toContain('out')
    expect(await cli.ok(['sandbox', 'top', 'one', '--once'])).toContain('one')
  })

  it('fork, show their tree, and are promoted', async () => {
    const children = (await cli.ok(['sandbox', 'fork', 'one', '--count', '2'])).split('\n')
    expect(children).toHaveLength(2)
    const [winner = ''] = children
    const [first = '', ...branches] = (await cli.ok(['sandbox', 'tree', 'one'])).split('\n')
    expect(first.startsWith(`${id}  one`)).toBe(true)
    expect(branches.map((line) => line.slice(0, 2))).toEqual(['├─', '└─'])
    expect(new Set(branches.map((line) => line.split(' ')[1]))).toEqual(new Set(children))
    expect(await cli.ok(['sandbox', 'promote', winner])).toBe(`${winner} stays; 1 deleted`)
    await cli.ok(['sandbox', 'rm', winner])
    expect(await cli.ok(['sandbox', 'ls', '-q'])).toBe(id)
    const snapshot = await cli.ok(['sandbox', 'snapshot', 'one', 'kept'])
    expect((await offshoot.request('DELETE', `/v1/snapshots/${snapshot}`)).status).toBe(204)
  })

  it('have ports with addresses', async () => {
    await cli.ok(['sandbox', 'port', 'one', '3000', '--label', 'web'])
    expect(await cli.ok(['sandbox', 'port', 'one', '3000'])).toMatch(new RegExp(`^http://3000-${id}`))
    await cli.ok(['sandbox', 'port', 'one', '3000', '--rm'])
    expect(await cli.run(['sandbox', 'port', 'one', '3000'])).toMatchObject({ code: 3, stdout: '' })
  })

  it('open terminals of real shells', async () => {
    const program = `
import os, pty, sys
out = b''
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
sent = False
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    out += piece
    if not sent and (b'# ' in out or b'$ ' in out):
        os.write(fd, b'echo "6 times 7 is $((6 * 7))"; stty size; exit 5\\n')
        sent = True
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(out)
sys.exit(os.waitstatus_to_exitcode(status))
`
    const { code, stdout, stderr } = await cli.inPython(program, ['sandbox', 'shell', 'one'])
    expect({ code, stderr }).toEqual({ code: 5, stderr: '' })
    expect(stdout).toContain('6 times 7 is 42')
  })
})

/** Every entry below a folder: type, mode, modification time and content. */
async function describeTree(folder: string): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for (const name of (await readdir(folder, { recursive: true })).toSorted()) {
    const path = join(folder, name)
    const stats = await lstat(path)
    const mode = (stats.mode & 0o777).toString(8)
    if (stats.isSymbolicLink()) found[name] = await readlink(path)
    else if (stats.isDirectory()) found[name] = mode
    else found[name] = [mode, Math.floor(stats.mtimeMs / 1000), (await readFile(path)).toString('base64url')]
  }
  return found
}

const local = (name: string) => join(cli.folder, name)

describe('cp', () => {
  const LARGE_BYTES = 9_000_000
  beforeAll(async () => {
    await mkdir(local('tree/sub/empty folder'), { recursive: true })
    for (const name of [
      'plain',
      ' spaces ',
      'quote\'"$`*',
      'new\nline',
      '-rf',
      'grün',
      '深い',
      `${'x'.repeat(250)}.txt`,
    ])
      await writeFile(local(`tree/${name}`), `content of ${name}`)
    await mkdir(local(`tree/${'deep/'.repeat(40)}`), { recursive: true })
    await writeFile(local(`tree/${'deep/'.repeat(40)}end`), '')
    await writeFile(local('tree/sub/large'), randomBytes(LARGE_BYTES))
    await writeFile(local('tree/run.sh'), '#!/bin/sh', { mode: 0o755 })
    await writeFile(local('tree/secret'), 'x', { mode: 0o600 })
    await symlink('sub/large', local('tree/link'))
    await symlink('../nowhere', local('tree/sub/dangling'))
    await utimes(local('tree/plain'), 1_000_000_000, 1_000_000_000)
    await chmod(local('tree/sub/empty folder'), 0o700)
  })

  it('copies a folder both ways: odd names, modes, times, links, empty folders', async () => {
    await cli.ok(['cp', 'tree', 'one:/srv/there'])
    expect(await cli.ok(['sandbox', 'exec', 'one', 'cat /srv/there/-rf; stat -c %u%a /srv/there/run.sh'])).toBe(
      'content of -rf0755',
    )
    await cli.ok(['cp', `${id}:/srv/there`, 'back'])
    expect(await describeTree(local('back'))).toEqual(await describeTree(local('tree')))
    expect(await cli.json(['cp', 'one:/srv/there', 'back'])).toMatchObject({ left_out: [] })
    expect(await readdir(local('back/there/sub'))).toHaveLength(3)
  })

  it('continues after broken connections, and brings every byte', async () => {
    for (const [from, to, result] of [
      ['tree', 'one:/srv/cut', null],
      ['one:/srv/cut', 'cut', 'cut'],
      ['one:/srv/cut/sub/large', 'large', null],
    ] as const) {
      const proxy = await CuttingProxy.to(offshoot.credentials.base_url, LARGE_BYTES / 3, 2)
      expect(await cli.run(['cp', from, to], { env: { OFFSHOOT_BASE_URL: proxy.url } })).toMatchObject({ code: 0 })
      expect(proxy.cuts).toBe(2)
      await proxy.close()
      if (result !== null) expect(await describeTree(local(result))).toEqual(await describeTree(local('tree')))
    }
    expect((await readFile(local('large'))).equals(await readFile(local('tree/sub/large')))).toBe(true)
  })

  it('copies single files, between sandboxes, and contents of folders', async () => {
    await cli.ok(['cp', 'tree/run.sh', 'one:/srv/new/'])
    await cli.ok(['cp', 'one:/srv/new/run.sh', 'one:/srv/new/again'])
    await cli.ok(['cp', 'one:/srv/new', 'one:/srv/copied'])
    await cli.ok(['cp', 'tree/sub/.', 'one:/srv/copied'])
    await cli.ok(['cp', 'one:/srv/copied/again', '.'])
    expect((await lstat(local('again'))).mode & 0o777).toBe(0o755)
    expect(await cli.ok(['sandbox', 'exec', 'one', 'cd /srv/copied; ls'])).toBe(
      ['again', 'dangling', 'empty folder', 'large', 'run.sh'].join('\n'),
    )
  })

  it('refuses what cannot be', async () => {
    const refusals = await Promise.all(
      [
        ['tree', 'back'],
        ['tree', 'one:srv'],
        ['one:/srv/there', 'one:/srv/there/below'],
        ['nothing', 'one:/srv'],
        ['one:/nothing', '.'],
        ['tree', 'nobody:/srv'],
        ['one:/srv/there', 'tree/plain'],
        ['tree', 'one:/etc/passwd'],
        ['one:/dev/null', '.'],
      ].map(async (paths) => cli.run(['cp', ...paths])),
    )
    expect(refusals.map(({ code }) => code)).toEqual([2, 2, 2, 3, 3, 3, 1, 1, 1])
    for (const { stderr } of refusals) expect(stderr).toMatch(/^offshoot: [^\n]+\n(Usage: offshoot cp [^\n]+\n)?$/)
  })
})

describe('refusals', () => {
  it('are one sentence each, with an exit code for each kind, and never show the key', async () => {
    const secret = cli.env['OFFSHOOT_API_KEY'] ?? ''
    const refusals = await Promise.all([
      cli.run(['sandbox', 'exec', 'nobody', 'true']),
      cli.run(['sandbox', 'rm', '00000000-0000-4000-8000-000000000000']),
      cli.run(['sandbox', 'ls'], { env: { OFFSHOOT_API_KEY: `${secret.slice(0, -1)}_` } }),
      cli.run(['sandbox', 'create', '--template', 'nothing']),
      cli.run(['sandbox', 'ls'], { env: { OFFSHOOT_BASE_URL: 'http://127.0.0.1:1' } }),
      cli.run(['sandbox', 'ls'], { env: { OFFSHOOT_API_KEY: '' } }),
      cli.run(['use', 'other']),
    ])
    expect(refusals.map(({ code }) => code)).toEqual([3, 3, 4, 3, 1, 4, 4])
    for (const { stdout, stderr } of refusals) {
      expect(stdout).toBe('')
      expect(stderr).toMatch(/^offshoot: [^\n]+\n$/)
      expect(stderr).not.toContain(secret)
    }
  })
})
