/**
 * @module-tag long
 *
 * Changes of the version that runs. This checkout is one version; the others are laid out as the npm package does it.
 */
import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findFreePort } from '@offshoot/kit/free-port'
import { imagesDir, Offshoot } from './setup/offshoot.ts'

const execute = promisify(execFile)
const repository = resolve(import.meta.dirname, '..')
const folder = join(repository, '.offshoot/tests', `versions-${process.pid}`)

let offshoot: Offshoot
let sandbox: string

/** A release of the npm package with this commit. @returns its `bin/up` */
async function layOut(commit: string): Promise<string> {
  const root = join(folder, commit)
  await mkdir(root, { recursive: true })
  for (const name of ['bin', 'packages', 'templates', 'guest', 'package.json', 'package-lock.json'])
    await cp(join(repository, name), join(root, name), {
      recursive: true,
      preserveTimestamps: true,
      filter: (path) => !path.endsWith('/build'),
    })
  for (const name of ['services', 'console', 'docs'])
    await cp(join(imagesDir, name), join(root, name), { recursive: true })
  await symlink(join(repository, 'node_modules'), join(root, 'node_modules'))
  await writeFile(join(root, 'release.json'), JSON.stringify({ id: commit, version: '9.9.9', commit }))
  return join(root, 'bin/up')
}

async function run(program: string, command: 'upgrade' | 'rollback') {
  const done = await execute(program, [command, '--data-dir', offshoot.dataDir]).catch((error: unknown) => error)
  const { code = 0, stdout, stderr } = done as { code?: number; stdout: string; stderr: string }
  return { code, output: stdout, errors: stderr }
}

/** What must not change with the version: the supervisor's process, and the VM with what runs in it. */
async function lasting() {
  const { pid } = JSON.parse(await readFile(join(offshoot.dataDir, 'up.json'), 'utf8')) as { pid: number }
  const machines = (await offshoot.virtualMachines()).filter(({ sandboxId }) => sandboxId === sandbox)
  return { pid, machines, running: (await offshoot.exec(sandbox, 'cat /root/pid; kill -0 $(cat /root/pid)')).stdout }
}

const commit = async () => (await offshoot.request('GET', '/version')).body.commit

beforeAll(async () => {
  offshoot = await Offshoot.start('upgrade', { port: await findFreePort() })
  sandbox = (await offshoot.create()).id
  await offshoot.exec(sandbox, 'sleep 100000 >/dev/null 2>&1 & echo $! > /root/pid')
})
afterAll(async () => {
  await offshoot?.destroy()
  await rm(folder, { recursive: true, force: true })
})

describe('the version that runs', () => {
  it('goes back by itself if the next one does not become healthy', async () => {
    const [before, known] = [await commit(), await lasting()]
    const broken = await layOut('broken')
    const control = join(folder, 'broken/services/control.js')
    await chmod(control, 0o644)
    await writeFile(control, 'process.exit(1)\n')
    const { code, errors } = await run(broken, 'upgrade')
    expect(errors).toMatch(/did not become healthy, and .*\/bin\/up runs again\. The reason: .*control/)
    expect(code).toBe(1)
    await offshoot.healthy()
    expect([await commit(), await lasting()]).toEqual([before, known])
    expect(await run(broken, 'rollback')).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/none to go back to/),
    })
  })

  it('changes by one command and back by one, while VMs and the supervisor’s process stay', async () => {
    const [before, known] = [await commit(), await lasting()]
    const next = await layOut('next')
    expect(await run(next, 'upgrade')).toEqual({ code: 0, output: `${next} runs now.\n`, errors: '' })
    await offshoot.healthy()
    expect([await commit(), await lasting()]).toEqual(['next', known])
    expect((await run(next, 'upgrade')).output).toContain('runs already')

    expect(await run(next, 'rollback')).toMatchObject({ code: 0 })
    await offshoot.healthy()
    expect([await commit(), await lasting()]).toEqual([before, known])
  })

  it('does not change when no service runs', async () => {
    await offshoot.stop()
    expect(await run(join(repository, 'bin/up'), 'upgrade')).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/^No service runs in .*\.\n$/),
    })
  })
})
