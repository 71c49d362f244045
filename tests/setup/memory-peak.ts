import { readFile, writeFile } from 'node:fs/promises'
import type { Offshoot } from './offshoot.ts'

/** MemoryPeak memory of a service since this object was made, relative to its memory then. */
export class MemoryPeak {
  readonly name: string
  readonly #pid: number
  readonly #beforeBytes: number

  private constructor(name: string, pid: number, beforeBytes: number) {
    this.name = name
    this.#pid = pid
    this.#beforeBytes = beforeBytes
  }

  static async of(offshoot: Offshoot, name: 'agent' | 'edge'): Promise<MemoryPeak> {
    const service = await offshoot.service(name)
    if (service === null) throw new Error(`no ${name} runs`)
    // Resets the kernel's peak value (proc_pid_clear_refs(5)).
    await writeFile(`/proc/${service.pid}/clear_refs`, '5')
    return new MemoryPeak(name, service.pid, await mostBytes(service.pid))
  }

  async growthBytes(): Promise<number> {
    return (await mostBytes(this.#pid)) - this.#beforeBytes
  }
}

async function mostBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}
