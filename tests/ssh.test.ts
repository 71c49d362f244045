import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Offshoot } from './setup/offshoot.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import { freePort, type Ran, SshClient } from './setup/ssh-client.ts'
import { until } from './setup/until.ts'

let offshoot: Offshoot
let baseId: string
let minimalId: string
let client: SshClient
/** Of the same key, for the other sandbox. */
let small: SshClient
let keyId: string

beforeAll(async () => {
  offshoot = await borrow()
  baseId = (await offshoot.create({ template: 'base' })).id
  minimalId = (await offshoot.create()).id
  client = await SshClient.make(offshoot, baseId)
  small = await SshClient.make(offshoot, minimalId)
  keyId = await addKey(client)
  await addKey(small)
})

afterAll(async () => {
  await client.remove()
  await small.remove()
  const { body } = await ofUser('GET', '/v1/me/ssh-keys')
  for (const { id } of body as { id: string }[]) await ofUser('DELETE', `/v1/me/ssh-keys/${id}`)
  await giveBack()
})

const ofUser = (method: string, path: string, json?: unknown) =>
  offshoot.request(method, path, {
    headers: { authorization: `Bearer ${offshoot.credentials.jwt}`, 'content-type': 'application/json' },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  })

async function addKey(of: SshClient): Promise<string> {
  const { status, body } = await ofUser('POST', '/v1/me/ssh-keys', {
    public_key: await readFile(of.file('id.pub'), 'utf8'),
  })
  expect(status).toBe(201)
  return (body as { id: string }).id
}

/** What curl prints of an address; empty if the connection is refused. */
async function curl(args: readonly string[], input?: string): Promise<string> {
  return (await client.runPlain('curl', ['-sS', '-m', '60', ...args], input)).stdout
}

const isOpen = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

/** A command that notes its SIGHUP in a file. */
const noting = (name: string) => `trap 'touch /tmp/${name}; exit' HUP; echo started; while :; do sleep 0.1; done`

describe('commands', () => {
  it('have exit code, separate outputs, input with its end, variables, and the shell of the user', async () => {
    const script = 'wc -c; echo "$LC_OFFSHOOT {a,b}" | cat; echo {1,2}; echo "$SSH_CONNECTION" >&2; exit 7'
    const ran = await client.ssh(['-o', 'SendEnv=LC_OFFSHOOT', 'gw', script], 'x'.repeat(100_000))
    expect(ran).toMatchObject({ code: 7, stdout: '100000\na value {a,b}\n1 2\n' })
    expect(ran.stderr).toMatch(/^127\.0\.0\.1 \d+ 127\.0\.0\.1 \d+\n$/)
    expect(await client.ssh(['gw', 'kill -TERM $$'])).toMatchObject({ code: 255 })
    expect(await small.ssh(['gw', 'echo $0; exit 3'])).toMatchObject({ code: 3, stdout: 'sh\n' })
  })

  it('run as another user of the sandbox', async () => {
    expect(await client.ssh(['-l', `user.${baseId}`, 'gw', 'id -un; pwd'])).toMatchObject({
      stdout: 'user\n/home/user\n',
    })
    const unknown = await client.ssh(['-l', `nobody-here.${baseId}`, 'gw', 'true'])
    expect(unknown).toMatchObject({ code: 255, stderr: 'offshoot: no such user: nobody-here\n' })
  })

  it('lose nothing when both outputs are larger than the client’s window', { tags: ['faults'] }, async () => {
    const ran = await client.ssh(['gw', 'seq 1 400000 >&2 & seq 1 400000; wait'])
    const expected = Array.from({ length: 400_000 }, (_unused, index) => `${index + 1}\n`).join('')
    expect(ran.stdout === expected).toBe(true)
    expect(ran.stderr === expected).toBe(true)
  })

  it('have a terminal that follows the size of the client’s', async () => {
    const program = 'trap "stty size; exit 5" WINCH; stty size; echo "$TERM $(tty)" READY; while :; do sleep 0.1; done'
    const args = [join(import.meta.dirname, 'setup/resized-terminal.py'), 'ssh', '-tt', '-F', client.file('config')]
    const ran = await client.runPlain('python3', [...args, 'gw', program])
    expect(ran.code).toBe(5)
    expect(ran.stdout).toMatch(/30 99\r\n\S+ \/dev\/pts\/\d+ READY\r\n[^]*44 121\r\n/)
  })

  it('are a login shell without a command, with and without a terminal', async () => {
    const plain = await client.ssh(['-T', 'gw'], 'echo "$0 $PWD"; exit 4\n')
    expect(plain).toMatchObject({ code: 4, stdout: '-bash /root\n' })
    const terminal = await small.ssh(['-tt', 'gw'], 'stty size\nexit 6\n')
    expect(terminal).toMatchObject({ code: 6, stdout: expect.stringContaining('24 80\r\n') as string })
  })

  it('get SIGHUP when their client goes, or the edge is killed', { tags: ['faults'] }, async () => {
    const isHungUp = async (name: string) => (await offshoot.exec(baseId, `test -e /tmp/${name}`)).exit_code === 0
    const gone = client.follow('gw', noting('gone'))
    await once(gone.stdout as NonNullable<typeof gone.stdout>, 'data')
    gone.kill('SIGKILL')
    await until('the end of the command', () => isHungUp('gone'))
    const cut = client.follow('gw', noting('cut'))
    await once(cut.stdout as NonNullable<typeof cut.stdout>, 'data')
    const closed = once(cut, 'close')
    await offshoot.killService('edge')
    await closed
    expect(cut.exitCode).toBe(255)
    await until('the end of the command', () => isHungUp('cut'))
    await until('the gateway', () => isOpen(offshoot.credentials.ssh_port))
    // The host key is the same, or the client would refuse it.
    const again = await until('the host key', async () => {
      const ran = await client.ssh(['gw', 'echo back'])
      return ran.code === 0 && ran
    })
    expect(again.stdout).toBe('back\n')
  })
})

describe('files', () => {
  it.each([
    ['scp', []],
    ['scp', ['-O']],
  ])('travel by %s %j', async (program, options) => {
    const content = randomBytes(3_000_000)
    await writeFile(client.file('sent'), content)
    expect(await client.run(program, [...options, '-p', client.file('sent'), 'gw:/tmp/there'])).toMatchObject({
      code: 0,
    })
    expect(await client.run(program, [...options, 'gw:/tmp/there', client.file('back')])).toMatchObject({ code: 0 })
    expect((await readFile(client.file('back'))).equals(content)).toBe(true)
  })

  it('travel by sftp and rsync, with folders', { tags: ['faults'] }, async () => {
    await mkdir(client.file('tree/a/b'), { recursive: true })
    await writeFile(client.file('tree/a/b/file'), 'content')
    await writeFile(client.file('batch'), `mkdir /tmp/up\nput -r ${client.file('tree')} /tmp/up\nls /tmp/up/tree/a/b\n`)
    const listed = await client.run('sftp', ['-b', client.file('batch'), 'gw'])
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining('/tmp/up/tree/a/b/file') as string })
    expect(await client.run('rsync', ['-a', `${client.file('tree')}/`, 'gw:/tmp/synced/'])).toMatchObject({ code: 0 })
    expect(await client.run('rsync', ['-a', 'gw:/tmp/synced/', client.file('copy/')])).toMatchObject({ code: 0 })
    expect(await readFile(client.file('copy/a/b/file'), 'utf8')).toBe('content')
  })

  it('do not travel by sftp where the template has no server, which the client is told', async () => {
    const ran = await small.run('sftp', ['-b', '/dev/null', 'gw'])
    expect(ran.code).not.toBe(0)
    expect(ran.stderr).toContain('offshoot: the template has no SFTP server')
  })
})

describe('forwarding', () => {
  let outside: Server

  beforeAll(async () => {
    outside = createServer((request, response) => response.end(`outside ${request.url}`)).listen(0, '127.0.0.1')
    await once(outside, 'listening')
    const started = 'mkdir -p /srv/w && head -c 5000000 /dev/zero >/srv/w/big && echo inside >/srv/w/file'
    await offshoot.exec(minimalId, `${started} && busybox httpd -p 127.0.0.1:3000 -h /srv/w`)
  })

  afterAll(() => outside.close())

  it('goes to sandbox, client, and anywhere by SOCKS, also over a key exchange', { tags: ['faults'] }, async () => {
    const [local, named, dynamic] = [await freePort(), await freePort(), await freePort()]
    const outsidePort = (outside.address() as AddressInfo).port
    const forwarded = [`-L${local}:127.0.0.1:3000`, `-L${named}:localhost:3000`, `-R4000:127.0.0.1:${outsidePort}`]
    const options = ['-N', '-oExitOnForwardFailure=yes', '-oRekeyLimit=1M']
    const ssh = small.follow(...options, ...forwarded, `-D${dynamic}`, 'gw')
    const socks = ['--socks5', `127.0.0.1:${dynamic}`]
    await until('the forwarded ports', async () => (await isOpen(local)) && (await isOpen(dynamic)))
    expect(await curl([`http://127.0.0.1:${local}/file`])).toBe('inside\n')
    expect(await curl([`http://127.0.0.1:${named}/file`])).toBe('inside\n')
    expect(await curl([...socks, 'http://127.0.0.1:3000/file'])).toBe('inside\n')
    expect((await curl([`http://127.0.0.1:${local}/big`])).length).toBe(5_000_000)
    const asked = 'for i in 1 2 3; do wget -qO- http://127.0.0.1:4000/$i & done; wait'
    const answers = await until('the remote port', async () => {
      const { stdout } = await offshoot.exec(minimalId, asked)
      return stdout.includes('outside') && stdout
    })
    expect(answers.match(/outside \/\d/g)?.toSorted()).toEqual(['outside /1', 'outside /2', 'outside /3'])
    const address = (await offshoot.exec(minimalId, 'hostname -i')).stdout.trim().split(' ')[0] ?? ''
    await offshoot.exec(minimalId, `busybox httpd -p ${address}:3001 -h /srv/w`)
    expect(await curl([...socks, `http://${address}:3001/file`])).toBe('inside\n')
    // Nothing listens there: the channel is refused, and the connection goes on.
    expect(await curl([...socks, 'http://127.0.0.1:3999/'])).toBe('')
    expect(await curl([`http://127.0.0.1:${local}/file`])).toBe('inside\n')
    ssh.kill()
    await until('the remote port closed', async () => {
      return (await offshoot.exec(minimalId, 'netstat -ltn | grep -q :4000')).exit_code !== 0
    })
  })

  it('of a port that is taken is refused', async () => {
    const ran = await small.ssh(['-N', '-o', 'ExitOnForwardFailure=yes', '-R', '3000:127.0.0.1:1', 'gw'])
    expect(ran.code).toBe(255)
    expect(ran.stderr).toMatch(/remote port forwarding failed for listen port 3000/)
  })

  it('reaches the sandbox’s own server by ProxyJump', { tags: ['faults'] }, async () => {
    await client.ssh(
      ['gw', 'mkdir -p -m 700 ~/.ssh && cat >~/.ssh/authorized_keys'],
      await readFile(client.file('id.pub')),
    )
    const options = ['-o', 'StrictHostKeyChecking=accept-new', '-J', 'gw']
    const ran = await client.ssh([...options, 'root@localhost', 'echo "$SSH_CONNECTION"'])
    expect(ran).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^127\.0\.0\.1 \d+ 127\.0\.0\.1 22\n$/) as string,
    })
  })

  it('serves many commands over one connection', async () => {
    const control = ['-o', `ControlPath=${client.file('master')}`]
    const master = client.follow(...control, '-o', 'ControlMaster=yes', '-N', 'gw')
    await until('the master', async () => (await client.ssh([...control, '-O', 'check', 'gw'])).code === 0)
    const words = Array.from({ length: 12 }, (_unused, index) => `word ${index}`)
    const ran = await Promise.all(words.map((word) => client.ssh([...control, 'gw', `echo ${word}`])))
    expect(ran.map(({ stdout }) => stdout)).toEqual(words.map((word) => `${word}\n`))
    master.kill()
  })

  it('serves the steps with which VS Code begins', { tags: ['long'] }, async () => {
    const dynamic = await freePort()
    const script = await readFile(join(import.meta.dirname, 'setup/editor-bootstrap.sh'))
    const ssh = client.follow('-T', '-D', String(dynamic), 'gw', 'bash')
    let shown = ''
    ssh.stdout?.on('data', (bytes: Buffer) => (shown += bytes.toString()))
    ssh.stdin?.write(script)
    const port = await until('the port of the server', () => /listeningOn==(\d+)==/.exec(shown)?.[1])
    const answer = await curl(['--socks5', `127.0.0.1:${dynamic}`, `telnet://127.0.0.1:${port}`], 'hello\n')
    expect(answer).toBe('server hello\n')
    ssh.stdin?.end()
    await once(ssh, 'close')
    expect((await offshoot.exec(baseId, 'pgrep -f server.py')).exit_code).toBe(0)
  })
})

describe('the gateway', () => {
  it('wakes a hibernated sandbox, and says when one is paused', async () => {
    await offshoot.request('POST', `/v1/sandboxes/${minimalId}/hibernate`)
    expect(await small.ssh(['gw', 'echo awake'])).toMatchObject({ code: 0, stdout: 'awake\n' })
    await offshoot.request('POST', `/v1/sandboxes/${minimalId}/pause`)
    const paused = await small.ssh(['gw', 'true'])
    expect(paused).toMatchObject({
      code: 255,
      stderr: 'offshoot: sandbox not running (paused or hibernated) — resume/wake it first\n',
    })
    await offshoot.request('POST', `/v1/sandboxes/${minimalId}/resume`)
  })

  it('takes a certificate for an API key', async () => {
    const own = await SshClient.make(offshoot, minimalId)
    const denied = await own.ssh(['gw', 'true'])
    const { status, body } = await offshoot.request('POST', '/v1/ssh-certificates', {
      body: JSON.stringify({ public_key: await readFile(own.file('id.pub'), 'utf8') }),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${offshoot.credentials.api_key}` },
    })
    expect(status).toBe(201)
    await writeFile(own.file('id-cert.pub'), (body as { certificate: string }).certificate)
    expect(await own.ssh(['gw', 'echo certified'])).toMatchObject({ code: 0, stdout: 'certified\n' })
    expect(denied).toMatchObject({
      code: 255,
      stderr: expect.stringContaining('Permission denied (publickey)') as string,
    })
    await own.remove()
  })

  it('answers every refusal alike', async () => {
    const stranger = await SshClient.make(offshoot, baseId)
    const deleted = await offshoot.create()
    await offshoot.delete(deleted.id)
    const shown: Ran[] = [
      await stranger.ssh(['gw', 'true']),
      await client.ssh(['-l', '00000000-0000-4000-8000-000000000000', 'gw', 'true']),
      await client.ssh(['-l', deleted.id, 'gw', 'true']),
      await client.ssh(['-l', 'root', 'gw', 'true']),
      await client.ssh(['-o', 'PreferredAuthentications=none,password,keyboard-interactive', 'gw', 'true']),
    ]
    await ofUser('DELETE', `/v1/me/ssh-keys/${keyId}`)
    shown.push(await client.ssh(['gw', 'true']))
    for (const { code, stderr, stdout } of shown) {
      expect({ code, stdout }).toEqual({ code: 255, stdout: '' })
      expect(stderr).toMatch(/^\S+@127\.0\.0\.1: Permission denied \(publickey\)\.\r?\n$/)
    }
    await stranger.remove()
  })
})
