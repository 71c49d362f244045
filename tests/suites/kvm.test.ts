/**
 * The whole service under KVM, with a kernel that boots under this host's KVM: `OFFSHOOT_KVM_KERNEL=vmlinux[.zst]
 * bin/test suites/kvm`.
 *
 * It tests function, not speed. Hosts with incomplete KVM may need `OFFSHOOT_KVM_CPU`,
 * `OFFSHOOT_KVM_KERNEL_PARAMETERS`, `OFFSHOOT_KVM_PATIENCE` and `OFFSHOOT_KVM_GUEST_ENV` (`KEY=value`, in every
 * command's environment; docs/kvm.md).
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, constants, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findVmProcesses } from '@offshoot/agent/machine/host/find-vm-processes'
import { VHOST_NET_DEVICE } from '@offshoot/agent/machine/host/vhost-net'
import { FailingQemu, wordsAt } from '@offshoot/agent/test/failing-qemu'
import { cpioArchive } from '@offshoot/up/images/cpio-archive'
import { makeDevice, withKvmDevice, type DeviceNode } from '../setup/kvm-device.ts'
import { copyMinimalImages } from '../setup/minimal-images.ts'
import { imagesDir, Offshoot } from '../setup/offshoot.ts'
import { until } from '../setup/until.ts'

const kernel = process.env['OFFSHOOT_KVM_KERNEL']
const REAL_QEMU = '/usr/bin/qemu-system-x86_64'
const GROUP = 64_042
const CPIO_BLOCK_BYTES = 512
/** Milliseconds. On slow KVM hosts a boot alone takes 35 s. */
const START_MS = 1_800_000
const CASE_MS = 600_000
const CLOCK_MS = 2000

const up = resolve(import.meta.dirname, '../../bin/up')
const folder = resolve(import.meta.dirname, `../../.offshoot/tests/kvm-${process.pid}`)
const labImages = join(folder, 'images')
const imagesWithoutJail = join(folder, 'images-without-jail')

const [envKey, ...envValue] = (process.env['OFFSHOOT_KVM_GUEST_ENV'] ?? '').split('=')
const env = envKey ? { [envKey]: envValue.join('=') } : {}

const canOpenKvm = await access('/dev/kvm', constants.R_OK | constants.W_OK).then(
  () => true,
  () => false,
)
const missing =
  kernel === undefined
    ? 'OFFSHOOT_KVM_KERNEL names no kernel'
    : process.getuid?.() !== 0
      ? 'only root makes device nodes'
      : canOpenKvm
        ? null
        : 'there is no /dev/kvm that can be opened'

/**
 * The usual images with another kernel, and an initramfs that it can read: uncompressed, and without modules to load.
 */
async function makeImages(path: string): Promise<void> {
  await copyMinimalImages(labImages)
  const packed = await readFile(path)
  await writeFile(join(labImages, 'vmlinuz'), path.endsWith('.zst') ? zstdDecompressSync(packed) : packed)
  const initramfs = gunzipSync(await readFile(join(imagesDir, 'initramfs.cpio.gz')))
  const padding = Buffer.alloc((CPIO_BLOCK_BYTES - (initramfs.length % CPIO_BLOCK_BYTES)) % CPIO_BLOCK_BYTES)
  // The kernel unpacks the archives in order, so a later file replaces an earlier one of the same path.
  const noModules = cpioArchive([{ kind: 'file', path: 'modules/order', mode: 0o644, content: Buffer.alloc(0) }])
  await writeFile(join(labImages, 'initramfs.cpio.gz'), Buffer.concat([initramfs, padding, noModules]))
}

/** The same images with a jail launcher that fails, as on a host without namespaces: VMs then run without a jail. */
async function makeImagesWithoutJail(): Promise<void> {
  await promisify(execFile)('cp', ['--archive', labImages, imagesWithoutJail])
  await writeFile(join(imagesWithoutJail, 'jail'), '#!/bin/sh\necho no namespaces for this test >&2\nexit 1\n')
}

/** Arguments that start a program with this node as its /dev/kvm. */
async function device(node: Omit<DeviceNode, 'driver'>): Promise<readonly string[]> {
  const path = join(await mkdtemp(join(folder, 'device-')), 'kvm')
  await makeDevice(path, { driver: 'kvm', ...node })
  return withKvmDevice(path)
}

/** The data directory of {@link prepare}. All cases share it and its bake, so each repeats only the trial. */
const prepared = join(folder, 'prepared')

/** Starts `bin/up --prepare` under KVM, with a new trial. */
async function startPrepare(images: string, under: readonly string[], path = process.env['PATH'] ?? '') {
  await rm(join(prepared, 'agent/accelerator.json'), { force: true })
  const line = ['--prepare', '--data-dir', prepared, '--images-dir', images, '--accelerator', 'kvm']
  const [program = '', ...args] = [...under, up, ...line]
  const environment = { ...process.env, OFFSHOOT_TEMPLATES: 'minimal', PATH: path }
  return spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: environment })
}

/** Prepares the data directory, or returns why that fails. */
async function prepare(...options: Parameters<typeof startPrepare>) {
  const child = await startPrepare(...options)
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  expect(await findVmProcesses(prepared)).toEqual([])
  return { code: child.exitCode, output, errors }
}

describe.skipIf(missing !== null)(
  `guests under KVM${missing === null ? '' : ` (skipped: ${missing})`}`,
  { tags: 'only-once' },
  () => {
    let offshoot: Offshoot
    beforeAll(async () => {
      await mkdir(folder, { recursive: true })
      await makeImages(kernel ?? '')
      await makeImagesWithoutJail()
      const under = await device({ gid: GROUP, mode: 0o660 })
      const settings = { under, args: ['--accelerator', 'kvm'], env: { OFFSHOOT_KVM_VHOST_NET: 'on' } }
      const options = { ...settings, imagesDir: labImages, readyMs: START_MS }
      offshoot = await Offshoot.startFirst('kvm', options)
    }, START_MS)
    afterAll(async () => {
      await offshoot?.destroy()
      await rm(folder, { recursive: true, force: true })
    }, CASE_MS)

    const run = async (id: string, cmd: string) =>
      (await offshoot.exec(id, cmd, { timeout_seconds: 300 })).stdout.trim()
    const create = async () => (await offshoot.create({ template: 'minimal', env, ttl_seconds: 7200 })).id
    const act = async (id: string, action: string, body = {}) =>
      offshoot.request('POST', `/v1/sandboxes/${id}/${action}`, { body })

    async function expectClock(id: string): Promise<void> {
      const askedMs = Date.now()
      const guestMs = Number(await run(id, 'date +%s')) * 1000
      expect(guestMs).toBeGreaterThanOrEqual(askedMs - CLOCK_MS)
      expect(guestMs).toBeLessThanOrEqual(Date.now() + CLOCK_MS)
    }

    it('run under KVM, as /healthz says', async () => {
      const { body } = await offshoot.request('GET', '/healthz')
      expect(body.agents).toMatchObject([{ accelerator: 'kvm', accelerator_reason: null }])
    })

    it('have vhost-net where the host has it, and run without it elsewhere', async () => {
      const hasDevice = await access(VHOST_NET_DEVICE).then(
        () => true,
        () => false,
      )
      expect(offshoot.output).toContain(
        hasDevice ? 'guests use vhost-net' : `guests do not use vhost-net: there is no ${VHOST_NET_DEVICE}`,
      )
    })

    it('are paused, resumed, hibernated and woken', { timeout: CASE_MS }, async () => {
      const id = await create()
      await run(id, 'echo remembered > /run/memory; echo written > /root/file')
      for (const action of ['pause', 'resume', 'hibernate', 'wake']) {
        expect((await act(id, action)).status).toBe(200)
      }
      expect(await run(id, 'cat /run/memory /root/file; hostname')).toBe(`remembered\nwritten\nsbx-${id.slice(0, 8)}`)
      await expectClock(id)
      await offshoot.delete(id)
    })

    it('are forked, alone and as a tree', { timeout: CASE_MS }, async () => {
      const id = await create()
      await run(id, 'echo remembered > /run/memory')
      const fork = await act(id, 'fork')
      expect(fork.status).toBe(201)
      const tree = await act(id, 'fork-tree', { count: 4 })
      expect(tree).toMatchObject({ status: 201, body: { errors: [] } })
      const children: string[] = [fork.body.id, ...tree.body.children.map((child: { id: string }) => child.id)]
      expect(children).toHaveLength(5)
      for (const child of [...children, id]) {
        expect(await run(child, 'cat /run/memory; hostname')).toBe(`remembered\nsbx-${child.slice(0, 8)}`)
        await expectClock(child)
        await offshoot.delete(child)
      }
    })

    it('are made from a snapshot', { timeout: CASE_MS }, async () => {
      const id = await create()
      await run(id, 'echo remembered > /run/memory')
      const snapshot = await offshoot.request('POST', `/v1/sandboxes/${id}/snapshots`, { body: {} })
      expect(snapshot.status).toBe(201)
      const made = await offshoot.create({ template: 'minimal', from_snapshot: snapshot.body.id })
      expect(await run(made.id, 'cat /run/memory')).toBe('remembered')
      await expectClock(made.id)
      for (const each of [made.id, id]) await offshoot.delete(each)
    })

    it('run in the jail with a device that only root may open', { timeout: START_MS }, async () => {
      const { code, errors } = await prepare(labImages, await device({ gid: 0, mode: 0o600 }))
      expect({ code, errors }).toEqual({ code: 0, errors: '' })
    })

    it.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
      'leave no QEMU when %s ends bin/up during the trial',
      { timeout: CASE_MS },
      async (signal) => {
        const child = await startPrepare(labImages, await device({ gid: GROUP, mode: 0o660 }))
        const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
        await until('a VM of the trial', async () => (await findVmProcesses(prepared)).length > 0, CASE_MS)
        child.kill(signal)
        await ended
        await until('the end of all VMs', async () => (await findVmProcesses(prepared)).length === 0)
      },
    )

    it.each([
      ['root:kvm 0660', { gid: GROUP, mode: 0o660 }],
      ['root:root 0666', { gid: 0, mode: 0o666 }],
    ])('run without a jail with a device that is %s', { timeout: START_MS }, async (_name, node) => {
      const { code, errors } = await prepare(imagesWithoutJail, await device(node))
      expect({ code, errors }).toEqual({ code: 0, errors: '' })
    })

    it.each([
      ['root:root 0600', { gid: 0, mode: 0o600 }],
      ['root:root 0660', { gid: 0, mode: 0o660 }],
    ])('do not run without a jail with a device that is %s, and the reason is reported', async (_name, node) => {
      const { code, errors } = await prepare(imagesWithoutJail, await device(node))
      expect(code).toBe(1)
      expect(errors).toContain(`its owner is 0:0 and its mode 0${node.mode.toString(8)}`)
    })

    // If no CPU model is configured, the first launch asks QEMU for its models. Without a jail, because the jail
    // contains no fake QEMU.
    it.each([
      ['boot', 1, 'start', 1],
      ['bake', 1, 'xen-save-devices-state', 1],
      ['restore', 2, 'start', 1],
      ['second restore', 3, 'start', 1],
      ['fork', 2, 'blockdev-snapshot', 1],
      ['hibernate', 2, 'stop', 2],
      ['wake', 5, 'start', 1],
    ])('do not run where QEMU fails at the step "%s"', { timeout: START_MS }, async (step, launch, moment, time) => {
      const qemu = await FailingQemu.make(REAL_QEMU)
      try {
        await qemu.failAt(launch + (process.env['OFFSHOOT_KVM_CPU'] === undefined ? 1 : 0), moment, time)
        const path = [join(qemu.path, '..'), process.env['PATH']].join(delimiter)
        const { code, errors } = await prepare(imagesWithoutJail, await device({ gid: GROUP, mode: 0o660 }), path)
        expect(code).toBe(1)
        expect(errors).toContain(`failed at the step "${step}"`)
        expect(errors).toContain(wordsAt(moment))
      } finally {
        await qemu.remove()
      }
    })
  },
)
