import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { mkdir, open, rm, truncate, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { runProgram } from '../machine/host/run-program.ts'

const DAEMON = '/usr/bin/qemu-storage-daemon'

/** The disk takes a loop device and FUSE, which only root can have, and not in every container. */
export const canLogDisk =
  process.getuid?.() === 0 && ['/dev/loop-control', '/dev/fuse', DAEMON].every((path) => existsSync(path))

/**
 * No help for programs that forget to sync: ext4 would write the content of a file before it replaces another one by a rename, and
 * commit its journal every 5 s. Other file systems do neither.
 */
const LOGGED = 'loop,noauto_da_alloc,commit=300'
const SECTOR_BYTES = 512
/** Flags of an entry, as dm-log-writes has them (Documentation/admin-guide/device-mapper/log-writes.rst). */
const FLUSH = 1
const DISCARD = 4
/** Milliseconds until a file system that was just used can be unmounted. */
const UNMOUNT_MS = 30_000

interface Entry {
  readonly isFlush: boolean
  /** Where the written bytes belong on the disk, and where they are in the log. */
  readonly diskOffset: number
  readonly logOffset: number
  readonly bytes: number
  readonly endsAt: number
}

const run = (program: string, args: readonly string[]) =>
  runProgram(program, [...args], Deadline.after(60_000, program))

/**
 * An ext4 file system whose block device records every write and every flush, so that what a power cut leaves can be made for any
 * moment.
 *
 *     ext4 → loop device → FUSE file of qemu-storage-daemon → blklogwrites → log, and a layer over the base
 *
 * A disk may lose what was written after the last flush. What a program has not synced is in the page cache of ext4 and is lost, too.
 */
export class LoggedDisk {
  readonly mountPoint: string
  readonly #place: string
  #daemon: ChildProcess | null = null
  #isMounted = false

  private constructor(place: string) {
    this.#place = place
    this.mountPoint = join(place, 'disk')
  }

  /** Mounted and not logged yet: what is written now is on every disk that a power cut leaves. */
  static async make(place: string, bytes: number): Promise<LoggedDisk> {
    const disk = new LoggedDisk(place)
    await mkdir(disk.mountPoint)
    await writeFile(disk.#base, '')
    await truncate(disk.#base, bytes)
    await run('mkfs.ext4', ['-q', '-m', '0', disk.#base])
    await disk.#mount(disk.#base, 'loop')
    return disk
  }

  /** Where the log ends now. */
  get position(): number {
    return statSync(this.#log).size
  }

  /** Mounts the disk as {@link make} and who filled it have left it, and logs what is written from now on. */
  async startLogging(): Promise<void> {
    await writeFile(this.#log, '')
    await this.#export([
      ['--blockdev', `driver=file,node-name=log,filename=${this.#log}`],
      ['--blockdev', 'driver=blklogwrites,node-name=exported,file=top,log=log'],
    ])
    await this.#mount(this.#exported, LOGGED)
  }

  /**
   * Mounts what a power cut at a position of the log leaves.
   * @param survives asked for each write after the last flush
   */
  async mountCut(position: number, survives: () => boolean): Promise<void> {
    await this.#export([['--blockdev', 'driver=raw,node-name=exported,file=top']])
    const log = await open(this.#log, 'r')
    const cut = await open(this.#exported, 'r+')
    try {
      const entries = await readEntries(log, position)
      const lastFlush = entries.findLastIndex(({ isFlush }) => isFlush)
      for (const [at, entry] of entries.entries()) if (at <= lastFlush || survives()) await copyBytes(log, cut, entry)
    } finally {
      await log.close()
      await cut.close()
    }
    await this.#mount(this.#exported, 'loop')
  }

  /** Whichever disk is mounted. */
  async unmount(): Promise<void> {
    const deadline = Deadline.after(UNMOUNT_MS, 'unmounting')
    // A copy of the mount, in the mount namespace of a process that just starts, would delay the writes of the unmount.
    if (this.#isMounted) await run('sync', ['--file-system', this.mountPoint])
    while (this.#isMounted) {
      try {
        await run('umount', [this.mountPoint])
        this.#isMounted = false
      } catch (error) {
        if (deadline.remainingMs <= 0) throw error
        await wait(50)
      }
    }
    await this.#endExport()
  }

  /** Nothing of it is left. */
  async destroy(): Promise<void> {
    await this.unmount()
    await rm(this.#place, { recursive: true, force: true })
  }

  /** Makes a file of an empty layer over the base. @param nodes the last of them is `exported`; the layer is `top` */
  async #export(nodes: readonly (readonly string[])[]): Promise<void> {
    const { size } = statSync(this.#base)
    await run('qemu-img', ['create', '-q', '-f', 'qcow2', '-u', '-b', this.#base, '-F', 'raw', this.#top, String(size)])
    await writeFile(this.#exported, '')
    this.#daemon = spawn(
      DAEMON,
      [
        ['--blockdev', `driver=file,node-name=base,filename=${this.#base},read-only=on`],
        ['--blockdev', `driver=file,node-name=top-file,filename=${this.#top}`],
        ['--blockdev', 'driver=qcow2,node-name=top,file=top-file,backing=base'],
        ...nodes,
        ['--export', `type=fuse,id=export,node-name=exported,writable=on,mountpoint=${this.#exported}`],
      ].flat(),
      { stdio: 'inherit' },
    )
    const deadline = Deadline.after(10_000, 'the exported disk')
    while (statSync(this.#exported).size !== size) {
      deadline.throwIfOver()
      await wait(10)
    }
  }

  async #endExport(): Promise<void> {
    const daemon = this.#daemon
    this.#daemon = null
    if (daemon === null || daemon.exitCode !== null) return
    const ended = once(daemon, 'exit')
    daemon.kill()
    await ended
  }

  async #mount(image: string, options: string): Promise<void> {
    await run('mount', ['-o', options, image, this.mountPoint])
    this.#isMounted = true
  }

  get #base(): string {
    return join(this.#place, 'base.ext4')
  }
  /** What was written since, over the base. */
  get #top(): string {
    return join(this.#place, 'top.qcow2')
  }
  get #log(): string {
    return join(this.#place, 'write-log')
  }
  get #exported(): string {
    return join(this.#place, 'exported.ext4')
  }
}

/** Every entry that ends at or before the position: one sector of header, then what was written. */
async function readEntries(log: FileHandle, position: number): Promise<Entry[]> {
  const entries: Entry[] = []
  const header = Buffer.alloc(4 * 8)
  for (let at = SECTOR_BYTES; at + SECTOR_BYTES <= position;) {
    await log.read(header, 0, header.length, at)
    const [sector, sectors, flags] = [0, 8, 16].map((offset) => Number(header.readBigUInt64LE(offset))) as [
      number,
      number,
      number,
    ]
    const bytes = (flags & DISCARD) === 0 ? sectors * SECTOR_BYTES : 0
    const endsAt = at + SECTOR_BYTES + bytes
    if (endsAt > position) break
    const isFlush = (flags & FLUSH) !== 0
    entries.push({ isFlush, diskOffset: sector * SECTOR_BYTES, logOffset: at + SECTOR_BYTES, bytes, endsAt })
    at = endsAt
  }
  return entries
}

async function copyBytes(from: FileHandle, to: FileHandle, { logOffset, diskOffset, bytes }: Entry): Promise<void> {
  if (bytes === 0) return
  const content = Buffer.alloc(bytes)
  await from.read(content, 0, bytes, logOffset)
  await to.write(content, 0, bytes, diskOffset)
}
