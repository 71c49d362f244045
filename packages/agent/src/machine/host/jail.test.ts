import { execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, chown, mkdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { setTimeout as wait } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { isAlive } from '@offshoot/kit/process-identity'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readReport } from '../../test/inside-jail.ts'
import { TestJail } from '../../test/test-jail.ts'
import { channelFolder } from '../vm/channel.ts'
import { launch, type LaunchedQemu } from '../vm/launch.ts'
import { type CgroupPlace, Cgroups, killMembers, removeGroup } from './cgroups.ts'
import { endVmProcesses } from './end-vm-processes.ts'
import { childrenOf, findVmProcesses, parentOf } from './find-vm-processes.ts'
import { runProgram } from './run-program.ts'

const run = promisify(execFile)
const NATIVE = join(import.meta.dirname, '../../../native')
/** A user id that no slot has. */
const UID = 299_998
const SLOT = 0
const ONE_CPU = { weight: 100, percent: null }
const PROGRAM = '/usr/bin/inside-jail'
/** The mount point of control groups of version 2, with or without controllers; `null`: none. */
const UNIFIED = / (\S+) cgroup2 /.exec(readFileSync('/proc/mounts', 'utf8'))?.[1] ?? null
const NAMESPACES = ['mnt', 'net', 'pid', 'ipc', 'uts']
/** uretprobe and uprobe, which the kernel hides from filters: they kill a caller that is no probe of the kernel. */
const UNFILTERED = [335, 336]
/** System calls that an attacker would use first. */
const DANGEROUS = [
  'mount umount2 pivot_root chroot unshare setns clone3 ptrace process_vm_readv pidfd_getfd socket',
  'socketpair connect bind kill bpf perf_event_open io_uring_setup userfaultfd keyctl add_key',
  'open_by_handle_at name_to_handle_at init_module finit_module kexec_load mknodat setuid setgid',
  'setgroups capset personality reboot swapon execveat symlinkat linkat fchownat syslog',
].flatMap((line) => line.split(' '))

/** A program that succeeds if a server answers, and otherwise prints the error. */
const ask = (url: string) =>
  `fetch('${url}', { signal: AbortSignal.timeout(5000) }).then(() => process.exit(0), (error) => { console.log(error.cause?.code); process.exit(1) })`
const asUser = (command: string) =>
  run('setpriv', [`--reuid=${UID}`, `--regid=${UID}`, '--clear-groups', 'sh', '-c', command])
const deadline = () => Deadline.after(50_000, 'test')

describe.runIf(process.getuid?.() === 0)('a process in a jail', () => {
  let test: TestJail
  let cgroups: Cgroups | null
  let dangerous: number[]
  const started: LaunchedQemu[] = []

  beforeAll(async () => {
    test = await TestJail.open()
    cgroups = await Cgroups.detect(`test-${process.pid}`)
    const source = await readFile(join(NATIVE, 'jail-filter.c'), 'utf8')
    const filter = source.slice(0, source.indexOf('zygote_rules'))
    const names = [...filter.matchAll(/\bALLOW\((\w+)\)/g)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'name')
    expect(names.length).toBeGreaterThan(100)
    await writeFile(join(test.folder, 'allowed.h'), names.map((name) => `SYS_${name},`).join('\n'))
    const numbers = DANGEROUS.map((name) => `SYS_${name}`).join(' ')
    await writeFile(join(test.folder, 'numbers.c'), `#include <sys/syscall.h>\nnumbers ${numbers}\n`)
    const expanded = await runProgram('cc', ['-E', '-P', join(test.folder, 'numbers.c')], deadline())
    dangerous = expanded.slice(expanded.lastIndexOf('numbers ')).trim().split(/\s+/).slice(1).map(Number)
    const inside = join(import.meta.dirname, '../../test/inside-jail.c')
    const program = join(test.jail.root, PROGRAM)
    await runProgram(
      'cc',
      ['-static', '-O1', '-Wall', '-Wextra', `-I${test.folder}`, inside, '-o', program],
      deadline(),
    )
  }, 60_000)
  afterEach(async () => {
    for (const { process: identity } of started.splice(0)) await endVmProcesses([{ process: identity }])
    await cgroups?.remove(SLOT)
  })
  afterAll(async () => {
    await test.close()
  })

  /** Starts the test program the way the agent starts QEMU. */
  async function start(
    name: string,
    paths: readonly string[] = [],
    accelerator: 'kvm' | 'tcg' = 'tcg',
    cgroup: CgroupPlace | null = cgroups?.placeOf(SLOT) ?? null,
  ) {
    await rm(join(test.folder, name), { recursive: true, force: true })
    const folder = join(test.folder, name, 'vm')
    const bake = join(test.folder, name, 'bake')
    await chmod(test.folder, 0o711)
    await mkdir(folder, { recursive: true })
    await mkdir(bake)
    await writeFile(join(bake, 'file'), 'of the bake')
    await chmod(join(bake, 'file'), 0o666)
    await chown(folder, UID, UID)
    await cgroups?.create(SLOT, { memoryMib: 256, processes: 32, cpu: ONE_CPU })
    const logPath = join(test.folder, name, 'log')
    const launched = await launch({
      qemu: PROGRAM,
      args: paths,
      folder,
      logPath,
      confinement: { uid: UID, jail: test.jail, cgroup },
      tap: null,
      bake,
      accelerator,
      files: [join(bake, 'file')],
      preload: null,
    })
    started.push(launched)
    launched.qmp.close()
    return { launched, folder, report: () => readReport(logPath, deadline()) }
  }

  it('has its own files, sees no other process, and has no rights but the allowed system calls', async () => {
    const secret = join(test.folder, 'secret')
    await writeFile(secret, 'of the host', { mode: 0o644 })
    const { report } = await start('alone', [secret, '/etc/passwd', '/proc/1/cmdline', '/sys/kernel', '/bake/file'])
    const found = await report()
    expect(found).toMatchObject({ pid: 1, parent: 0, others: 0, uid: UID, gid: UID, read: ['/bake/file'] })
    expect(found.root.filter((name) => !/^(usr|lib|lib64|bin|sbin)$/.test(name)).toSorted()).toEqual([
      'bake',
      'dev',
      'etc',
      'guest-memory.so',
      'proc',
      'qemu',
      'vm',
      'volume',
    ])
    expect(found.above).toEqual(found.root)
    expect(found.vm).toEqual([])
    expect(found.bake).toEqual(['file'])
    expect(found.dev.toSorted()).toEqual(['null', 'urandom'])
    expect(found.etc.toSorted()).toEqual(['ld.so.cache', 'mtab'])
    expect(found.proc.toSorted()).toEqual(['mounts', 'swaps'])
    expect(found.writes).toEqual({ root: 0, program: 0, bake: 0, dev: 0, vm: 1 })
    expect(found.runs_own).toBe(0)
    expect(found.descriptors).toEqual([0, 1, 2, 3, 4, 200, 201, 202])
    const known = new Set([...found.allowed, ...UNFILTERED])
    expect(found.calls.filter((number) => !known.has(number))).toEqual([])
    expect(found.allowed.filter((number) => !found.calls.includes(number))).toEqual([])
    expect(dangerous).toHaveLength(DANGEROUS.length)
    expect(found.calls.filter((number) => dangerous.includes(number))).toEqual([])
  })

  it('is in namespaces and control groups of its own, and has no capabilities', async () => {
    const { launched, report } = await start('namespaces')
    await report()
    const { pid } = launched.process
    for (const name of NAMESPACES) {
      expect([name, await readlink(`/proc/${pid}/ns/${name}`)]).not.toEqual([
        name,
        await readlink(`/proc/self/ns/${name}`),
      ])
    }
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      expect(status).toMatch(new RegExp(`^${set}:\\s+0+$`, 'm'))
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m)
    expect(status).toMatch(/^Seccomp:\s+2$/m)
    expect(status).toMatch(/^Groups:\s*$/m)
    if (cgroups !== null)
      expect(await readFile(`/proc/${pid}/cgroup`, 'utf8')).toContain(`offshoot/test-${process.pid}-${SLOT}\n`)
  })

  it('reaches no service of the host and no address, even without its filter', async () => {
    const server = createServer((_request, response) => response.end('of the host')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const { launched, report } = await start('network')
    await report()
    // In its network namespace, without its filter.
    const inside = ['-t', String(launched.process.pid), '-n', '--']
    for (const url of [
      `http://127.0.0.1:${port}`,
      `http://[::1]:${port}`,
      'http://169.254.169.254',
      'http://192.0.2.1',
    ]) {
      const answer = await run('nsenter', [...inside, process.execPath, '-e', ask(url)]).then(
        () => 'reached',
        (error: { stdout?: string }) => error.stdout?.trim(),
      )
      expect([url, answer]).toEqual([url, expect.stringMatching(/^(ENETUNREACH|EADDRNOTAVAIL|ECONNREFUSED)$/)])
    }
    const { stdout } = await run('nsenter', [...inside, 'ip', '-json', 'link'])
    expect((JSON.parse(stdout) as { ifname: string }[]).map(({ ifname }) => ifname)).toEqual(['lo'])
    server.close()
  })

  it('ends with all its children, and its launcher ends with the same status', async () => {
    const { launched, folder, report } = await start('killed')
    await report()
    const patience = deadline()
    while ((await childrenOf(launched.process)).length < 3) patience.throwIfOver()
    const children = await childrenOf(launched.process)
    const [found] = await findVmProcesses(test.folder)
    expect(found).toMatchObject({
      folder,
      process: launched.process,
      launcher: { pid: await parentOf(launched.process) },
    })
    process.kill(launched.process.pid, 'SIGKILL')
    expect(await deadline().race(launched.ended)).toEqual({ exitCode: null, signal: 'SIGKILL' })
    for (const pid of children) await expect(readFile(`/proc/${pid}/stat`)).rejects.toThrow('ENOENT')
    expect(await findVmProcesses(test.folder)).toEqual([])
  })

  it('ends when its launcher is killed', async () => {
    const { launched, report } = await start('orphan')
    await report()
    const launcher = (await parentOf(launched.process)) ?? 0
    expect(launcher).toBeGreaterThan(1)
    process.kill(launcher, 'SIGKILL')
    const patience = deadline()
    while (await isAlive(launched.process)) {
      patience.throwIfOver()
      await wait(5)
    }
  })

  it('ends with its control group, which is created again only when it has no processes', async () => {
    if (cgroups === null) return
    const { launched, report } = await start('group')
    await report()
    const stray = spawn('sleep', ['600'])
    await once(stray, 'spawn')
    const ended = once(stray, 'exit')
    await cgroups.attach(SLOT, stray.pid ?? 0)
    await cgroups.create(SLOT, { memoryMib: 64, processes: 8, cpu: ONE_CPU })
    expect(await isAlive(launched.process)).toBe(false)
    await deadline().race(ended)
    expect(stray.signalCode).toBe('SIGKILL')
    await cgroups.remove(SLOT)
    await expect(cgroups.attach(SLOT, process.pid)).rejects.toThrow('ENOENT')
  })

  it.runIf(UNIFIED !== null)('starts in a control group of version 2, and ends with it', async () => {
    const folder = join(UNIFIED ?? '', `offshoot-test-${process.pid}`)
    await mkdir(folder)
    try {
      const { launched, report } = await start('unified', [], 'tcg', { version: 2, folder })
      await report()
      expect(await readFile(join(folder, 'cgroup.procs'), 'utf8')).toMatch(new RegExp(`^${launched.process.pid}$`, 'm'))
      await killMembers(folder)
      expect(await deadline().race(launched.ended)).toEqual({ exitCode: null, signal: 'SIGKILL' })
      expect(await killMembers(folder)).toBe(0)
    } finally {
      await removeGroup(folder)
    }
  })

  it('listens on sockets in a folder that its user cannot enter', async () => {
    const { folder, report } = await start('sockets')
    await report()
    const channel = channelFolder(folder)
    for (const name of ['qmp.sock', 'guest.sock', 'image.sock']) {
      await expect(asUser(`ls ${channel}/${name}`)).rejects.toThrow('Permission denied')
      await expect(asUser(`ln -sf /etc/passwd ${channel}/${name}`)).rejects.toThrow('Permission denied')
    }
    await expect(asUser(`mv ${channel} ${channel}.other`)).rejects.toThrow('Permission denied')
  })

  it.runIf(existsSync('/dev/kvm'))('may use KVM only if its guest does', async () => {
    expect((await (await start('tcg')).report()).kvm).toBe(0)
    await cgroups?.remove(SLOT)
    const found = await (await start('kvm', [], 'kvm')).report()
    expect(found.dev.toSorted()).toEqual(['kvm', 'null', 'urandom'])
    expect(found.kvm).toBe(1)
  })

  it('does not start if a part of it is missing, and names that part', async () => {
    const { launcher, root } = test.jail
    const attempt = (...options: string[]) =>
      run(launcher, [...options, '--with-parent', '--', PROGRAM], { timeout: 20_000 }).catch((error: unknown) => error)
    const own = ['--root', root, '--uid', String(UID)]
    for (const [options, message] of [
      [['--root', root, '--uid', '0'], 'a user other than root is needed'],
      [['--uid', String(UID)], 'a root and a program are needed'],
      [[...own, '--bind', join(test.folder, 'nothing'), '/bake'], 'bind of '],
      [[...own, '--join', join(test.folder, 'nothing/tasks')], 'nothing/tasks: No such file'],
      [[...own, '--tap', 'ofs-none-such-x', '99'], 'TAP ofs-none-such-x'],
      [[...own, '--root', join(test.folder, 'nothing')], 'bind of '],
      [[...own, '--unknown', 'x'], 'option --unknown'],
    ] as const) {
      expect(await attempt(...options)).toMatchObject({ code: 127, stderr: expect.stringContaining(message) })
    }
  })
})
