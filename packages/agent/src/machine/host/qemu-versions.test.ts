import { access, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CheckpointIncompatible } from '../../store/checkpoints/checkpoint-errors.ts'
import type { Jail } from './jail.ts'
import { translatesByAddress } from './qemu.ts'
import { QemuVersions } from './qemu-versions.ts'

const TOOLS = { e2fsck: '', resize2fs: '' }
const at = (version: string) => ({ root: '/', version, path: '/usr/bin/qemu', build: '1-1', jail: null })
const jailed = (version: string) => ({ ...at(version), jail: { launcher: '', root: version, tools: TOOLS } })

it('code at another address is translated again by all versions before 10', () => {
  expect(['7.2.22', '8.2.0', '9.2.4', '10.0.2', '11.0.0'].map(translatesByAddress)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ])
})

describe('the versions of QEMU of a host', () => {
  const versions = new QemuVersions(at('10.0.2'), [at('7.2.9'), at('8.1.0'), at('7.2.22')])

  it('are ordered from new to old, after the current one', () => {
    expect(versions.all.map(({ version }) => version)).toEqual(['10.0.2', '8.1.0', '7.2.22', '7.2.9'])
  })

  it.each([
    [undefined, '10.0.2'],
    ['10.0.0', '10.0.2'],
    ['8.1.5', '8.1.0'],
    ['7.2.9', '7.2.22'],
  ])('restore checkpoints of %s with %s', (saved, chosen) => {
    expect(versions.of(saved).version).toBe(chosen)
  })

  it.each(['7.20.2', '9.2.0', '1.0.0'])('refuse checkpoints of %s, an unknown series', (saved) => {
    expect(() => versions.of(saved)).toThrow(CheckpointIncompatible)
  })

  it('do not contain a removed one', () => {
    const [current, removed] = [at('10.0.2'), at('8.1.0')]
    const few = new QemuVersions(current, [removed])
    few.forget(removed)
    expect(few.all).toEqual([current])
    expect(() => few.of('8.1.0')).toThrow(CheckpointIncompatible)
  })
})

describe('the QEMU of the images and that of the host', () => {
  const [ofImages, ofHost] = [jailed('10.0.13'), jailed('7.2.22')]
  let opened = 0
  const open = async () => {
    opened++
    return ofHost
  }

  it('take turns: VMs start with the one for the accelerator, and the other one restores what it saved', async () => {
    // The root of the host's was found among those of earlier starts.
    const earlier = [{ ...ofHost }, jailed('8.1.0')]
    const versions = new QemuVersions(ofImages, earlier, { qemu: ofHost, open })
    expect(versions.ofHost.version).toBe('7.2.22')
    await versions.choose('tcg')
    expect(versions.all.map(({ version }) => version)).toEqual(['10.0.13', '8.1.0', '7.2.22'])
    await versions.choose('kvm')
    expect(versions.all.map(({ version }) => version)).toEqual(['7.2.22', '10.0.13', '8.1.0'])
    await versions.choose('kvm')
    await versions.choose('tcg')
    expect(versions.all.map(({ version }) => version)).toEqual(['10.0.13', '8.1.0', '7.2.22'])
    expect(opened).toBe(1)
  })

  it('are one where the images bring none', async () => {
    const versions = new QemuVersions(ofHost)
    await versions.choose('kvm')
    expect(versions.all).toEqual([ofHost])
  })
})

describe('roots of earlier starts of the agent', () => {
  let folder: string
  let jail: Jail
  let lines: { msg: string; root?: string }[]
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-qemu-versions-'))
    await writeFile(join(folder, 'preload'), 'preload')
    await mkdir(join(folder, 'qemu'))
    lines = []
    // A launcher for which a program "starts" where its root holds the file `works`.
    const launcher = join(folder, 'launcher')
    await writeFile(launcher, '#!/bin/sh\ntest -e "$2/works"\n', { mode: 0o755 })
    jail = { launcher, root: join(folder, 'qemu/10.0.2-0123456789abcdef'), tools: TOOLS }
    await root('10.0.2-0123456789abcdef')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  async function root(name: string): Promise<string> {
    const path = join(folder, 'qemu', name)
    await mkdir(path)
    await writeFile(join(path, 'works'), '')
    return path
  }
  const log = () => pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const open = async (own: Jail | null = jail) =>
    QemuVersions.open(
      {
        folder: join(folder, 'qemu'),
        current: { ...at('10.0.2'), jail: own },
        hosts: { qemu: at('10.0.2'), open: () => Promise.reject(new Error('not asked for')) },
        preload: join(folder, 'preload'),
      },
      log(),
      Deadline.after(10_000, 'test'),
    )

  it('are used, each with the path of its QEMU', async () => {
    const path = await root('7.2.22-0123456789abcdef')
    await symlink('/opt/qemu', join(path, 'qemu'))
    const earlierForm = await root('8.1.0-0123456789abcdef')
    const versions = await open()
    expect(versions.earlier).toEqual([
      { version: '8.1.0', path: '/usr/bin/qemu', jail: { ...jail, root: earlierForm } },
      { version: '7.2.22', path: '/opt/qemu', jail: { ...jail, root: path } },
    ])
    expect(lines).toEqual([])
  })

  it('are kept and reported if their QEMU does not start', async () => {
    const path = await root('7.2.22-0123456789abcdef')
    await rm(join(path, 'works'))
    expect((await open()).earlier).toEqual([])
    await access(path)
    expect(lines).toMatchObject([{ root: '7.2.22-0123456789abcdef' }])
  })

  it('are removed if they are unfinished; other names are ignored', async () => {
    const [unfinished, other] = [await root('.new-7.2.22-0123456789abcdef'), await root('of-an-operator')]
    expect((await open()).earlier).toEqual([])
    await expect(access(unfinished)).rejects.toThrow('ENOENT')
    await access(other)
  })

  it('are not used if the host has no jail', async () => {
    await root('7.2.22-0123456789abcdef')
    expect((await open(null)).earlier).toEqual([])
  })
})
