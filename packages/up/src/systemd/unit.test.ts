import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { hasProgram } from '../base/has-program.ts'
import { unitText } from './unit.ts'

const execute = promisify(execFile)
const inputs = {
  command: ['/bin/true', '--data-dir', '/a b/100%/$HOME/"q"\\', '--yes'],
  variables: { OFFSHOOT_KVM_KERNEL_PARAMETERS: 'noxsave quiet' },
}

it('quotes what systemd would read otherwise', () => {
  const lines = unitText({ ...inputs, isRootless: false }).split('\n')
  expect(lines).toContain(String.raw`ExecStart=/bin/true --data-dir "/a b/100%%/$$HOME/\"q\"\\" --yes`)
  expect(lines).toContain('Environment="OFFSHOOT_KVM_KERNEL_PARAMETERS=noxsave quiet"')
})

it.for([false, true])('is right for systemd-analyze (of a user: %s)', async (isRootless, { skip }) => {
  if (!(await hasProgram('systemd-analyze'))) skip('systemd-analyze is not installed')
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-unit-'))
  const path = join(folder, 'offshoot.service')
  await writeFile(path, unitText({ ...inputs, isRootless }))
  const { stdout, stderr } = await execute('systemd-analyze', ['--man=no', 'verify', path])
  expect(stdout + stderr).toBe('')
  await rm(folder, { recursive: true })
})
