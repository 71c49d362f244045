import { z } from 'zod'
import { accelerator, cpuLimits, guestNetwork, isolation } from './agent-api.ts'
import { diskState } from './agent-disk.ts'
import { optional } from './fields.ts'
import { hostLabels, hostZone, queryLabels } from './host-label.ts'
import { createdQuery, once } from './page.ts'

/**
 * `joining`: control has signed its certificate, and its agent has not answered yet. `ready`: the host answers, and gets
 * new sandboxes. `cordoned`: an operator keeps new sandboxes away from it, and those it has go on. `draining`: they also
 * move to other hosts. `lost`: no control process has heard it for `lost_after_seconds`, so it gets none. `foreign`: it
 * obeys another cluster, so it gets none.
 */
export const hostState = z.enum(['joining', 'ready', 'cordoned', 'draining', 'lost', 'foreign'])

const hostLease = z.object({
  /** Counts the leases of the host: another one begins after the end of the one before. */
  generation: z.int(),
  /** Seconds from a renewal to the end. */
  seconds: z.number(),
  /** When control renewed it last. */
  renewed_at: z.string(),
  /** When control declared that it has ended, so that databases of the host may come up elsewhere; `null`: it has not. */
  ended_at: z.string().nullable(),
})

/**
 * A machine that runs VMs, as operators see it. A host that is lost has the figures of its last answer. Of one that is
 * `joining`, control knows nothing that an agent says: those fields are `null`.
 */
export const host = z.object({
  /** The id of its agent. */
  id: z.string(),
  state: hostState,
  /** Where control reaches its agent. */
  url: z.string(),
  version: z.string().nullable(),
  qemu_version: z.string().nullable(),
  accelerator: accelerator.nullable(),
  /** Why it does not use KVM; `null` under KVM. */
  accelerator_reason: z.string().nullable(),
  isolation: isolation.nullable(),
  /** `null` if the agent's version does not report it. */
  cpu_limits: cpuLimits.nullable(),
  network: guestNetwork.nullable(),
  capacity: z.object({
    cpus: z.int().nullable(),
    /** The most that all VMs together may use. */
    memory_mib: z.int().nullable(),
    /** Of the file system of the data directory; `null` if it is unknown. */
    disk_bytes: z.int().nullable(),
  }),
  used: z.object({
    /** The most that the present VMs may use. */
    memory_mib: z.int().nullable(),
    disk_bytes: z.int().nullable(),
  }),
  /** `null` if it is unknown. */
  disk_state: diskState.nullable(),
  /** Sandboxes that users made, in any state but `failed`. */
  sandboxes: z.int(),
  /** VMs of apps. */
  instances: z.int(),
  /** VMs of databases. */
  databases: z.int(),
  /** When an operator cordoned the host, also while it is lost; `null` if it may get new sandboxes. */
  cordoned_at: z.string().nullable(),
  /** What operators say of the host. A workspace may require labels. */
  labels: z.record(z.string(), z.string()),
  /** The group of machines that fail together with this one, as operators name it. */
  zone: z.string().nullable(),
  /** The databases of the host run only while control renews it. `null`: they need none. */
  lease: hostLease.nullable(),
  /** When a control process heard it last. It may be older by a quarter of `lost_after_seconds` while the host answers. */
  last_heard_at: z.string().nullable(),
  /** When the host joined; of an agent in the configuration of control, when it answered for the first time. */
  created_at: z.string(),
})
export type Host = z.infer<typeof host>

/** Maximum objects in `stays` of one answer. */
export const MAX_STAYING_SHOWN = 100

/** Something that is still on a host after control tried to move it, or cannot move. */
const stayingObject = z.object({
  kind: z.enum(['sandbox', 'app', 'database', 'volume', 'snapshot', 'template']),
  /** Of a template and of a volume, its name. */
  id: z.string(),
  workspace_id: z.string(),
  reason: z.string(),
})

/** How far control has moved the sandboxes, snapshots, templates and live versions of apps of a host to other hosts. */
export const hostDrain = z.object({
  begun_at: z.string(),
  /** When everything that can move had been tried; `null` before. */
  ended_at: z.string().nullable(),
  /** Sandboxes, snapshots, templates and apps that are still to be moved, with those that move now. */
  left: z.int(),
  moving: z.int(),
  moved: z.int(),
  /** Sandboxes, snapshots, templates and apps that could not be moved. Draining again tries them again. */
  failed: z.int(),
  /** How many objects stay on the host, with those that could not be moved. */
  staying: z.int(),
  /** The first of them, at most {@link MAX_STAYING_SHOWN}. */
  stays: z.array(stayingObject),
})
export type HostDrain = z.infer<typeof hostDrain>

/** One host, as its own routes answer it. */
export const hostDetail = host.extend({
  /** `null` if no operator drains it, or has drained it since it was last uncordoned. */
  drain: hostDrain.nullable(),
})
export type HostDetail = z.infer<typeof hostDetail>

/** Query of `GET /v1/admin/hosts`. */
export const hostsQuery = createdQuery.extend({
  /** Hosts that have this label. Of several, they have all. */
  label: queryLabels('label'),
  zone: once('zone').optional(),
})

/** Body of `PATCH /v1/admin/hosts/{id}`. Absent fields stay as they are. */
export const patchHostBody = z.object({
  /** Replace all labels of the host. */
  labels: optional(hostLabels('labels')),
  /** `null`: the host is in no zone. */
  zone: hostZone('zone').nullable().optional(),
})

/** Query of `DELETE /v1/admin/hosts/{id}`. */
export const removeHostQuery = z.strictObject({
  /** Why the host is removed with everything on it. Without it, only a host without objects is removed. */
  reason: z.string().trim().min(1).max(500).optional(),
})

/** Body of `POST /v1/admin/hosts/tokens`, which may be absent. */
export const hostTokenBody = z.strictObject({
  /** A host that has joined. With the token it joins again, with its data, because control refuses its certificate. */
  host_id: optional(z.string()),
})

/** Answer of `POST /v1/admin/hosts/tokens`. */
export const hostToken = z.object({
  /** For `bin/up --join`. Only this answer contains it. It lets one host join. */
  token: z.string(),
  /** An hour after it was made. */
  expires_at: z.string(),
})
export type HostToken = z.infer<typeof hostToken>
