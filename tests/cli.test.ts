import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CommandLine, PROGRAM } from './setup/cli.ts'
import { cliHostCases } from './setup/cli-host-cases.ts'
import { completeIn, completions, hasShell, SHELLS } from './setup/complete-in-shell.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import { until } from './setup/until.ts'

const execute = promisify(execFile)

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
    const copy = await cli.ok(['sandbox', 'create', '--from-snapshot', 'kept'])
    const made = { template: 'minimal', from_snapshot: snapshot }
    expect((await offshoot.request('GET', `/v1/sandboxes/${copy}`)).body).toMatchObject(made)
    await cli.ok(['sandbox', 'rm', copy])
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

/** Whether a process of the sandbox has such a command line. The brackets keep the search from finding itself. */
async function runs(pattern: string): Promise<boolean> {
  const found = await offshoot.exec(id, `grep -q '[${pattern[0]}]${pattern.slice(1)}' /proc/[0-9]*/cmdline`)
  return found.exit_code === 0
}

const local = (name: string) => join(cli.folder, name)

describe('the workspace', () => {
  it('tells what happens in it', async () => {
    const [last] = await cli.json(['events', '--tail', '1', '--type', 'sandbox.running'])
    const following = cli.run(['events', '-f', '--json', '--since', last.id, '--sandbox', 'one'], {
      until: (stdout) => stdout.includes('sandbox.resumed'),
    })
    await cli.ok(['sandbox', 'pause', 'one'])
    await cli.ok(['sandbox', 'resume', 'one'])
    const { code, stdout } = await following
    const types = stdout
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { type: string }).type]))
    expect(code).toBe(0)
    expect(types.slice(-2)).toEqual(['sandbox.paused', 'sandbox.resumed'])
    expect(await cli.ok(['events', '-n', '5', '--sandbox', 'one'])).toMatch(
      new RegExp(`^\\S+Z  ${id.slice(0, 8)}  sandbox.resumed  `, 'm'),
    )
  })

  it('has API keys, which an account makes and revokes', async () => {
    const path = join(offshoot.dataDir, 'credentials.json')
    const { email, password } = JSON.parse(await readFile(path, 'utf8')) as Record<'email' | 'password', string>
    const env = { OFFSHOOT_API_KEY: '' }
    const account = async (...argv: readonly string[]) => {
      const ran = await cli.run(argv, { env })
      expect(ran).toMatchObject({ code: 0 })
      return ran.stdout.trim()
    }
    expect(await cli.run(['login', '--email', email], { env, stdin: `${password}\n` })).toMatchObject({ code: 0 })
    const key = await account('key', 'create', 'ci', '--scope', 'sandboxes:read', '--expires', '30d')
    expect(await cli.ok(['sandbox', 'ls', '-q'], { env: { OFFSHOOT_API_KEY: key } })).toBe(id)
    expect(await account('key', 'ls')).toMatch(/^ofs_\S+ +ci +sandboxes:read +\d+s +/m)
    expect(await account('key', 'rm', 'ci')).toBe(key.slice(0, key.lastIndexOf('_')))
    expect(await cli.run(['sandbox', 'ls'], { env: { OFFSHOOT_API_KEY: key } })).toMatchObject({ code: 4 })
    expect(await cli.run(['key', 'create', 'x', '--scope', 'everything'], { env })).toMatchObject({ code: 1 })
    expect(await cli.run(['key', 'ls'])).toMatchObject({ code: 4, stdout: '' })
    await account('logout')
  })
})

describe('hosts', () => {
  cliHostCases(() => ({ cli, offshoot }))
})

describe('other programs', () => {
  it('enter sandboxes by OpenSSH, with a certificate that is renewed', async () => {
    const env = { HOME: cli.folder }
    expect(await cli.spawn(['ssh-config', '--write'], { env })).toMatchObject({ code: 0, stdout: '' })
    const config = local('.ssh/config')
    const ssh = async (...args: readonly string[]) =>
      (await execute('ssh', ['-F', config, '-o', 'BatchMode=yes', ...args], { env: { ...process.env, ...cli.env } }))
        .stdout
    expect(await ssh('one.offshoot', 'echo by name')).toBe('by name\n')
    const certificate = local('ssh/id_ed25519-cert.pub')
    await writeFile(certificate, 'expired')
    await utimes(certificate, 1_000_000_000, 1_000_000_000)
    expect(await ssh(`${id}@offshoot`, 'echo by id')).toBe('by id\n')
    expect((await stat(certificate)).mtimeMs).toBeGreaterThan(Date.now() - 3_600_000)
    expect((await stat(local('ssh/id_ed25519'))).mode & 0o777).toBe(0o600)
    expect((await readFile(config, 'utf8')).match(/^Include /gm)).toHaveLength(1)
  })

  it.for(SHELLS)('complete command lines in %s', { tags: ['long'] }, async (shell, { skip }) => {
    if (!hasShell(shell)) skip(`this machine has no ${shell}`)
    const expected = completions(shell, id)
    const offered = await completeIn(shell, cli, Object.keys(expected))
    expect(Object.fromEntries(Object.keys(expected).map((line, at) => [line, offered[at]]))).toEqual(expected)
  })

  it('use sandboxes by the Model Context Protocol', async () => {
    const client = new Client({ name: 'test', version: '1.0.0' })
    const env = { PATH: process.env['PATH'] ?? '', ...cli.env }
    const transport = new StdioClientTransport({ command: process.execPath, args: [PROGRAM, 'mcp'], env })
    await client.connect(transport)
    const run = async (cmd: string, options: { signal?: AbortSignal } = {}) =>
      (await client.callTool({ name: 'run_command', arguments: { sandbox_id: id, cmd } }, options)).structuredContent
    expect(await run('echo out; exit 3')).toMatchObject({ stdout: 'out\n', exit_code: 3 })
    const cancel = new AbortController()
    const running = run('sleep 4321', { signal: cancel.signal })
    await until('the command', async () => runs('sleep.4321'))
    cancel.abort('enough')
    await expect(running).rejects.toThrow('enough')
    await until('the end of the command', async () => !(await runs('sleep.4321')))
    await client.close()
    expect(await cli.spawn(['mcp'], { env: { OFFSHOOT_API_KEY: '' } })).toMatchObject({ code: 4, stdout: '' })
  })
})

describe('secrets', () => {
  it('appear in no output, log or list of processes', async () => {
    const secret = cli.env['OFFSHOOT_API_KEY'] ?? ''
    const waiting = new AbortController()
    const lines = [
      ['sandbox', 'exec', 'one', 'sleep 1000'],
      ['sandbox', 'logs', '-f', 'one'],
      ['events', '-f'],
    ]
    const running = lines.map(async (argv) => cli.spawn(argv, { signal: waiting.signal }))
    await until('the command', async () => runs('sleep.1000'))
    const processes = await Promise.all(
      (await readdir('/proc')).map(async (pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
    )
    waiting.abort()
    const outputs = (await Promise.all(running)).flatMap(({ stdout, stderr }) => [stdout, stderr])
    outputs.push((await cli.run(['login'], { stdin: secret, env: { OFFSHOOT_API_KEY: '' } })).stderr)
    expect((await stat(local('config.json'))).mode & 0o777).toBe(0o600)
    outputs.push(await cli.ok(['whoami']), await cli.ok(['whoami', '--json']))
    await cli.ok(['logout'])
    const logs = await Promise.all((['control', 'agent', 'edge'] as const).map(async (name) => offshoot.log(name)))
    const mine = processes.filter((line) => lines.some((argv) => line.includes(argv.join('\0'))))
    expect(mine.length).toBeGreaterThanOrEqual(lines.length)
    for (const text of [...processes, ...outputs, ...logs]) expect(text.includes(secret)).toBe(false)
  })
})

describe('docs/cli.md', () => {
  it('has examples that work, in their order', { tags: ['long'] }, async () => {
    const page = await readFile(join(import.meta.dirname, '../docs/cli.md'), 'utf8')
    const blocks = [...page.matchAll(/^ *```sh\n([^]*?)^ *```/gm)].map(([, block = '']) => block)
    const lines = blocks.flatMap((block) => [...block.matchAll(/^ *offshoot (.*?)(?: +#.*)?$/gm)])
    expect(lines.length).toBeGreaterThan(20)
    await mkdir(local('site'))
    await writeFile(local('site/index.html'), 'hello')
    for (const [, line = ''] of lines) {
      const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
      expect({ line, ...(await cli.run(words)) }).toMatchObject({ line, code: 0 })
    }
    expect(await readFile(local('copy/index.html'), 'utf8')).toBe('hello')
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
