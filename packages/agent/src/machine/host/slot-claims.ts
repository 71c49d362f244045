/**
 * Claims slot numbers of this machine. A slot's number determines a user, a TAP and a network, which exist once per
 * machine. Several agents share them: each claims blocks of numbers, one file per block, in a folder of the machine.
 *
 *     free ──claim──► an agent's ──release──► free
 *                        └── its agent is dead, and no process has a user of the block ──► free
 *
 * A claim outlives its agent's process, because VMs do. Another agent takes over the blocks of a dead agent if its data
 * directory is gone, or if no other block is left. All changes hold a lock of the machine.
 */
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { takeLock } from '@offshoot/kit/exclusive-lock'
import { identifyProcess, isAlive } from '@offshoot/kit/process-identity'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'
import { isPresent } from '../../store/ledger/is-present.ts'
import { readHostBootId } from './boot-id.ts'

/** Numbers per block: a power of two, so that the networks of a block form one network. */
export const BLOCK_SLOTS = 256
/** Blocks per machine: 16,384 numbers. */
export const MAX_BLOCKS = 64
const LOCK_WAIT_S = 20

const claim = z.object({
  /** The boot of the machine in which the block was claimed. */
  boot_id: z.string(),
  /** The agent's process. */
  data_dir: z.string(),
  process: z.object({ pid: z.int(), startTicks: z.int() }),
})
type Claim = z.infer<typeof claim>

/** Every number of this machine is in use. */
export class NoFreeSlots extends Error {
  override readonly name = 'NoFreeSlots'
}

export interface SlotClaimsOptions {
  readonly dataDir: string
  /** The user id of slot 0. */
  readonly baseUid: number
  /** Removes the network objects that the dead agent of a block may have left, before another agent gets the block. */
  readonly clear: (block: number) => Promise<void>
  /** The folder that all agents of the machine share, or of the network namespace (`AgentConfig.run_dir`). */
  readonly folder: string
}

export class SlotClaims {
  readonly #options: SlotClaimsOptions
  readonly #folder: string
  readonly #blocks = new Set<number>()

  private constructor(options: SlotClaimsOptions) {
    this.#options = options
    this.#folder = join(options.folder, 'slots')
  }

  /** Opens the claims of this agent: its blocks from earlier starts, or a new one. @throws NoFreeSlots */
  static async open(options: SlotClaimsOptions): Promise<SlotClaims> {
    const claims = new SlotClaims(options)
    await mkdir(claims.#folder, { recursive: true, mode: 0o700 })
    await claims.#locked(async () => {
      for (const [block, owner] of await claims.#all()) {
        if (owner?.data_dir === options.dataDir) claims.#blocks.add(await claims.#write(block))
        else if (await claims.#isGone(block, owner)) await claims.#clear(block)
      }
      if (claims.#blocks.size === 0) claims.#blocks.add(await claims.#claimFree())
    })
    return claims
  }

  get blocks(): readonly number[] {
    return [...this.#blocks].toSorted((a, b) => a - b)
  }

  has(slot: number): boolean {
    return this.#blocks.has(Math.floor(slot / BLOCK_SLOTS))
  }

  /**
   * Claims another block.
   * @param prepare makes the block usable, before it counts as claimed
   * @throws NoFreeSlots
   */
  async claim(prepare: (block: number) => Promise<void> | undefined): Promise<void> {
    const block = await this.#locked(() => this.#claimFree())
    await prepare(block)
    this.#blocks.add(block)
  }

  /**
   * Releases all blocks. No VM may use a number of them any more.
   * @param whenLast called after the last claim of the machine was released
   */
  async release(whenLast: () => Promise<void>): Promise<void> {
    await this.#locked(async () => {
      for (const block of this.#blocks) await this.#clear(block)
      this.#blocks.clear()
      if ((await this.#all()).size === 0) await whenLast()
    })
  }

  async #claimFree(): Promise<number> {
    const taken = await this.#all()
    for (let block = 0; block < MAX_BLOCKS; block++) if (!taken.has(block)) return this.#write(block)
    for (const [block, owner] of taken) {
      if (this.#blocks.has(block) || !(await this.#isUnused(block, owner))) continue
      await this.#clear(block)
      return this.#write(block)
    }
    throw new NoFreeSlots('every slot of this machine belongs to an agent')
  }

  async #write(block: number): Promise<number> {
    const self = await identifyProcess(process.pid)
    if (self === null) throw new Error('this process is not in /proc')
    const { dataDir } = this.#options
    const content: Claim = { boot_id: await readHostBootId(), data_dir: dataDir, process: self }
    await writeFileDurably(this.#path(block), `${JSON.stringify(content)}\n`)
    return block
  }

  /** The agent can never return. */
  async #isGone(block: number, owner: Claim | null): Promise<boolean> {
    if (owner !== null && owner.boot_id === (await readHostBootId()) && (await mayExist(owner.data_dir))) return false
    return this.#isUnused(block, owner)
  }

  async #isUnused(block: number, owner: Claim | null): Promise<boolean> {
    if (owner !== null && (await isAlive(owner.process))) return false
    return !(await this.#hasProcesses(block))
  }

  async #hasProcesses(block: number): Promise<boolean> {
    const first = this.#options.baseUid + block * BLOCK_SLOTS
    for (const name of await readdir('/proc')) {
      if (!/^\d+$/.test(name)) continue
      const uid = await stat(`/proc/${name}`).then(
        (found) => found.uid,
        () => -1,
      )
      if (uid >= first && uid < first + BLOCK_SLOTS) return true
    }
    return false
  }

  async #clear(block: number): Promise<void> {
    await this.#options.clear(block)
    await rm(this.#path(block), { force: true })
  }

  /** @returns `null` for a damaged record: a block without an owner */
  async #all(): Promise<Map<number, Claim | null>> {
    const found = new Map<number, Claim | null>()
    for (const name of await readdir(this.#folder)) {
      if (!/^\d+$/.test(name)) continue
      const text = await readFile(join(this.#folder, name), 'utf8')
      found.set(Number(name), parse(text))
    }
    return found
  }

  async #locked<T>(work: () => Promise<T>): Promise<T> {
    const lock = await takeLock(join(this.#folder, '.lock'), LOCK_WAIT_S)
    if (lock === null) throw new Error(`${this.#folder} stayed locked for ${LOCK_WAIT_S} s`)
    try {
      return await work()
    } finally {
      lock.release()
    }
  }

  #path(block: number): string {
    return join(this.#folder, String(block))
  }
}

function parse(text: string): Claim | null {
  try {
    return claim.parse(JSON.parse(text))
  } catch {
    return null
  }
}

/** A folder that cannot be examined may be on a disk that returns later, with an agent and VMs that use the block. */
async function mayExist(path: string): Promise<boolean> {
  return isPresent(path).catch(() => true)
}
