import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { Deadline } from '@offshoot/kit/deadline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AcmeServer } from '../test/acme-server.ts'
import { EdgeUnderTest } from '../test/edge-under-test.ts'
import { LocalAuthority } from './local-authority.ts'

const SUFFIX = 'p.example.com'

let folder: string
let server: AcmeServer
let edge: EdgeUnderTest | undefined

/** A file of lines `NAME VALUE`, which serves as DNS in these tests. */
const zone = () => join(folder, 'zone')
const records = async () => (await readFile(zone(), 'utf8')).split('\n').filter((line) => line !== '')

/** Fails if a second run of the hook is in progress. */
const HOOK = `#!/bin/sh
mkdir ZONE.lock || exit 1
trap 'rmdir ZONE.lock' EXIT
if [ "$1" = add ]; then echo "$2 $3" >> ZONE; else grep -vxF -- "$2 $3" ZONE > ZONE.new; mv ZONE.new ZONE; fi
`

async function hook(text: string): Promise<string> {
  const path = join(folder, 'hook')
  await writeFile(path, text.replaceAll('ZONE', zone()))
  await chmod(path, 0o755)
  return path
}

async function start(script: string): Promise<EdgeUnderTest> {
  const acme = { directory_url: `${server.url}/directory`, hook: await hook(script), email: 'me@example.com' }
  edge = await EdgeUnderTest.start({}, { acme, suffix: SUFFIX, data_dir: join(folder, 'edge') })
  return edge
}

/** Whether a visitor of a preview host who trusts `ca` accepts the edge's certificate. */
async function isTrusted(port: number, ca: string): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port, servername: `3000-x.${SUFFIX}`, ca, rejectUnauthorized: false })
  await Deadline.after(10_000, 'a handshake').race(once(socket, 'secureConnect'))
  socket.destroy()
  return socket.authorized
}

async function eventually(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Deadline.after(20_000, what)
  while (!(await condition())) deadline.throwIfOver()
}

const ca = () => readFile(join(folder, 'ca/authority.pem'), 'utf8')

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'offshoot-acme-'))
  await writeFile(zone(), '')
  server = await AcmeServer.start(await LocalAuthority.open(join(folder, 'ca')), {
    lookUp: async (name) =>
      (await records()).filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1)),
  })
})
afterEach(async () => {
  await edge?.stop()
  edge = undefined
  server.stop()
  await rm(folder, { recursive: true })
})

describe('a certificate by ACME', () => {
  it('is for the suffix and all below it, and leaves no record behind', async () => {
    const { port } = await start(HOOK)
    await eventually('a certificate of the authority', async () => isTrusted(port, await ca()))
    expect(server.issued).toEqual([[SUFFIX, `*.${SUFFIX}`]])
    // The records are removed after the certificate is stored, and it is used at once.
    await eventually('no record', async () => (await records()).length === 0)
  })

  it('is kept, and readable for its owner alone', async () => {
    const first = await start(HOOK)
    await eventually('a certificate of the authority', async () => isTrusted(first.port, await ca()))
    for (const file of ['certificate.json', 'account.key'])
      expect((await stat(join(folder, 'edge/acme', file))).mode & 0o777).toBe(0o600)
    await first.stop()
    const { port } = await start(HOOK)
    expect(await isTrusted(port, await ca())).toBe(true)
    expect(server.issued).toHaveLength(1)
  })

  it('is ordered again when the kept one is damaged, with the same account', { tags: ['faults'] }, async () => {
    const first = await start(HOOK)
    await eventually('a certificate of the authority', async () => isTrusted(first.port, await ca()))
    await first.stop()
    const [certificate, account] = ['certificate.json', 'account.key'].map((name) => join(folder, 'edge/acme', name))
    await writeFile(certificate ?? '', '{"cert": "')
    const key = await readFile(account ?? '', 'utf8')
    const { port } = await start(HOOK)
    await eventually('a second certificate', async () => isTrusted(port, await ca()))
    expect(server.issued).toHaveLength(2)
    expect(await readFile(account ?? '', 'utf8')).toBe(key)
  })

  it('is that of the local authority while the proof fails', async () => {
    const { port } = await start(`#!/bin/sh\necho "$@" >> ZONE\nexit 1\n`)
    await eventually('the hook', async () => (await records()).some((line) => line.startsWith('add _acme-challenge.')))
    expect(await isTrusted(port, await ca())).toBe(false)
    expect(await isTrusted(port, await readFile(join(folder, 'edge/authority.pem'), 'utf8'))).toBe(true)
    expect(server.issued).toEqual([])
  })
})
