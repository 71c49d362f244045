import { readFile } from 'node:fs/promises'
import type { ProcessIdentity } from '@offshoot/kit/process-identity'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { z } from 'zod'

export const serviceName = z.enum(['postgres', 'agent', 'control', 'edge', 'e2b'])
export type ServiceName = z.infer<typeof serviceName>

/** A process by pid and start time (clock ticks since boot), a pair that is never reused. */
const recordedProcess = z.object({ pid: z.int(), start_ticks: z.int() })

/** `DIR/up.json`: the running processes, for the next start and for `--down`. */
const runningRecord = z.object({
  ...recordedProcess.shape,
  /** `bin/up` of the supervisor, if that version can hand over (`handover.ts`). */
  program: z.string().optional(),
  port: z.int(),
  agent_port: z.int(),
  edge_port: z.int().optional(),
  database_port: z.int().optional(),
  e2b_port: z.int().optional(),
  ssh_port: z.int().optional(),
  postgres_port: z.int(),
  services: z.partialRecord(serviceName, recordedProcess),
})

export interface Ports {
  readonly control: number
  readonly agent: number
  readonly edge: number
  /** The edge's port for databases. */
  readonly databases: number
  /** The E2B gateway's port. */
  readonly e2b: number
  /** The edge's port for SSH. */
  readonly ssh: number
  readonly postgres: number
}

export interface RunningProcesses {
  readonly supervisor: ProcessIdentity
  /** Its `bin/up`; `null`: its version cannot hand over to another one. */
  readonly program: string | null
  readonly services: ReadonlyMap<ServiceName, ProcessIdentity>
  /** The edge's earlier port; `null` if it had none yet. */
  readonly edgePort: number | null
  /** The earlier port of databases. */
  readonly databasePort: number | null
  /** The earlier port of the E2B gateway. */
  readonly e2bPort: number | null
  /** The earlier port for SSH. */
  readonly sshPort: number | null
}

/** Keeps up.json current: it is rewritten atomically whenever a service starts or ends. */
export class RunningRecord {
  readonly #path: string
  readonly #supervisor: ProcessIdentity
  readonly #program: string
  readonly #ports: Ports
  readonly #services = new Map<ServiceName, ProcessIdentity>()
  #written: Promise<void> = Promise.resolve()

  private constructor(path: string, supervisor: ProcessIdentity, program: string, ports: Ports) {
    this.#path = path
    this.#supervisor = supervisor
    this.#program = program
    this.#ports = ports
  }

  /**
   * @param path of up.json; written at once, without services
   * @param program `bin/up` of the supervisor
   */
  static async create(
    path: string,
    supervisor: ProcessIdentity,
    program: string,
    ports: Ports,
  ): Promise<RunningRecord> {
    const record = new RunningRecord(path, supervisor, program, ports)
    await record.#write()
    return record
  }

  started(name: ServiceName, process: ProcessIdentity): Promise<void> {
    this.#services.set(name, process)
    return this.#write()
  }

  ended(name: ServiceName): Promise<void> {
    this.#services.delete(name)
    return this.#write()
  }

  /** Writes are serialized. Each writes the state at its own time. */
  #write(): Promise<void> {
    const write = () => writeFileDurably(this.#path, `${JSON.stringify(this.#content(), null, 2)}\n`)
    this.#written = this.#written.then(write, write)
    return this.#written
  }

  #content(): z.infer<typeof runningRecord> {
    const services = [...this.#services].map(([name, process]) => [name, asRecorded(process)])
    return {
      ...asRecorded(this.#supervisor),
      program: this.#program,
      port: this.#ports.control,
      agent_port: this.#ports.agent,
      edge_port: this.#ports.edge,
      database_port: this.#ports.databases,
      e2b_port: this.#ports.e2b,
      ssh_port: this.#ports.ssh,
      postgres_port: this.#ports.postgres,
      services: Object.fromEntries(services) as Record<ServiceName, z.infer<typeof recordedProcess>>,
    }
  }
}

/** Reads the record of the last supervisor of this data directory; `null` if there is none or it is unreadable. */
export async function readRunningRecord(path: string): Promise<RunningProcesses | null> {
  const text = await readFile(path, 'utf8').catch(() => null)
  const parsed = runningRecord.safeParse(parseJson(text))
  if (!parsed.success) return null
  const services = Object.entries(parsed.data.services) as [ServiceName, z.infer<typeof recordedProcess>][]
  return {
    supervisor: asIdentity(parsed.data),
    program: parsed.data.program ?? null,
    edgePort: parsed.data.edge_port ?? null,
    databasePort: parsed.data.database_port ?? null,
    e2bPort: parsed.data.e2b_port ?? null,
    sshPort: parsed.data.ssh_port ?? null,
    services: new Map(services.map(([name, process]) => [name, asIdentity(process)])),
  }
}

/**
 * The record without its processes, which keeps the ports when it is restored on another machine; `null` if there is no
 * record.
 */
export async function portsOfStopped(path: string): Promise<string | null> {
  const parsed = runningRecord.safeParse(parseJson(await readFile(path, 'utf8').catch(() => null)))
  if (!parsed.success) return null
  // No process has the pid 0.
  return `${JSON.stringify({ ...parsed.data, pid: 0, start_ticks: 0, services: {} }, null, 2)}\n`
}

function parseJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return null
  }
}

function asRecorded({ pid, startTicks }: ProcessIdentity): z.infer<typeof recordedProcess> {
  return { pid, start_ticks: startTicks }
}

function asIdentity(recorded: z.infer<typeof recordedProcess>): ProcessIdentity {
  return { pid: recorded.pid, startTicks: recorded.start_ticks }
}
