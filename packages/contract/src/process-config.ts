import { z } from 'zod'
import { controlSettings } from './control-settings.ts'
import { egressExceptions } from './egress-exception.ts'
import { templateName } from './template-image.ts'

export const DEFAULT_GUEST_RANGE = '10.213.0.0/16'

const port = z.int().min(1).max(65_535)
const listen = z.strictObject({
  /** Address to bind, e.g. `127.0.0.1` or `0.0.0.0`. */
  host: z.string().min(1),
  port,
})
const logLevel = z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info')
/** 32 random bytes in base64, shared by control and one agent: the HS256 key of the tokens between them. */
const agentSecret = z.base64().refine((text) => Buffer.from(text, 'base64').length === 32, 'must be 32 bytes in base64')

/** A domain under which every name leads to the edge, in lower case, without dots at its ends. */
const hostSuffix = z.string().regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/)

/** Bytes that one upload into a sandbox may have: a file, or an archive to unpack. Default 1 GiB. */
const maxUploadBytes = z
  .int()
  .min(1)
  .default(1024 ** 3)

/** Addresses of the guests of one host. */
export const guestRange = z
  .string()
  .regex(/^(\d{1,3}\.){2}0\.0\/16$/, 'must be a range such as 10.213.0.0/16')
  .refine((text) => z.ipv4().safeParse(text.split('/')[0]).success, 'must be a range such as 10.213.0.0/16')
  .default(DEFAULT_GUEST_RANGE)

const agentNetwork = z
  .strictObject({
    /** Addresses of guests, four for each: a private range that this host has no other use for. */
    guest_range: guestRange,
    /** What guests may reach although it is private or the host's own, each as `CIDR:port`. */
    egress_allow: egressExceptions.default([]),
    /** Megabits a second that a guest may send, and get. */
    guest_mbit: z.int().min(1).max(100_000).default(1000),
    /** Connections that a guest may have open to the outside. */
    guest_connections: z.int().min(1).max(65_535).default(1024),
  })
  .prefault({})

/** `auto`: KVM where guests really run under it, else TCG. `kvm`: nothing else will do. `tcg`: KVM is not even tried. */
export const acceleratorChoice = z.enum(['auto', 'kvm', 'tcg'])
export type AcceleratorChoice = z.infer<typeof acceleratorChoice>

/** Of guests under KVM. */
export const kvmSettings = z
  .strictObject({
    /** What `-cpu` of QEMU takes; without: the newest of a list of models that this host offers. */
    cpu: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.,=+-]*$/, "must be a CPU model of QEMU's, with its options")
      .optional(),
    /** Added to the guest kernel's command line. */
    kernel_parameters: z.array(z.string().regex(/^[\x21-\x7e]+$/)).default([]),
    /** Times the usual limits of probe and bakes: for hosts whose KVM is very slow. */
    patience: z.int().min(1).max(100).default(1),
    /** Guests' packets pass through the host's kernel instead of QEMU, where the host has vhost-net. */
    vhost_net: z.boolean().default(false),
  })
  .prefault({})

/** How the agent uses the file system that has its data directory. */
const agentDiskSettings = z
  .strictObject({
    /** MiB free below which operators are warned; `null` is a tenth of the file system, at most 16 GiB. */
    warn_below_mib: z.int().min(0).nullable().default(null),
    /**
     * MiB free below which what takes new room is answered 507, so that the rest is left to the sandboxes that there are;
     * `null` is a twentieth of the file system, at most 4 GiB; 0: only a full disk refuses.
     */
    refuse_below_mib: z.int().min(0).nullable().default(null),
    /** Seconds for which a sandbox has to be hibernated before its memory is compressed. */
    compress_after_s: z.int().min(0).default(3600),
  })
  .prefault({})

/** The configuration file of an agent, also that of its `prepare.ts` and `end-all.ts`. All paths are absolute. */
export const agentConfig = z.strictObject({
  /** Chosen by the agent at its first start and kept in its data directory when absent. */
  agent_id: z.uuid().optional(),
  /** The agent's own folder (`DIR/agent`): bakes, sandboxes, events. Made when missing. */
  data_dir: z.string().startsWith('/'),
  /** Folder of the built images, read only to the agent. May be shared by several agents. */
  images_dir: z.string().startsWith('/'),
  /** Where control reaches the agent. */
  listen,
  secret: agentSecret,
  /** Shared with the edge; without it no edge is let in. */
  edge_secret: agentSecret.optional(),
  /** Names of the templates to bake and offer; `null` is every image there is. */
  templates: z.array(templateName).nullable(),
  /** Base address under which users reach the service, when it is known. */
  public_url: z.url().optional(),
  /** Counted as they come. */
  max_upload_bytes: maxUploadBytes,
  /** MiB that guests may have which are restored before they are asked for; 0: every create restores its own. */
  pool_memory_mib: z.int().min(0).default(512),
  /**
   * MiB that all VMs may have together, each counted with all that its control group allows it. Most are idle, so that this
   * may be more than the host has: `null` is 8 times that. A create or wake beyond it is answered 507.
   */
  commit_limit_mib: z.int().min(1).nullable().default(null),
  disk: agentDiskSettings,
  network: agentNetwork,
  accelerator: acceleratorChoice.default('auto'),
  kvm: kvmSettings,
  log_level: logLevel,
})

export type AgentConfig = z.infer<typeof agentConfig>
/** As it stands in the file. */
export type AgentConfigFile = z.input<typeof agentConfig>

/** The configuration file of control, also that of its `bootstrap.ts`. All paths are absolute. */
export const controlConfig = z.strictObject({
  /** The public port. */
  listen,
  ...controlSettings.shape,
  /** Base address under which users reach the service, without a slash at the end. */
  public_url: z.url(),
  /** The PostgreSQL 16 database; the user owns it and is no superuser. */
  database: z.strictObject({
    host: z.string().min(1),
    port,
    user: z.string().min(1),
    password: z.string().min(1),
    database: z.string().min(1),
  }),
  /** The agents that control places sandboxes on, each with the secret it shares with it. */
  agents: z.array(z.strictObject({ url: z.url(), secret: agentSecret })),
  /** Shared with the edge, which is told of apps; without it no edge is. */
  edge_secret: agentSecret.optional(),
  /** As the agents have it: what is announced to be larger is refused before any of it is sent. */
  max_upload_bytes: maxUploadBytes,
  /** Where visitors reach the edge: what the addresses of ports are made of. */
  preview: z
    .strictObject({ scheme: z.enum(['http', 'https']), port, suffix: hostSuffix })
    .default({ scheme: 'http', port: 8081, suffix: 'localhost' }),
  /** Where clients reach databases: names `<id>.db.<suffix>` lead to it where there is a suffix, else all have this host. */
  databases: z
    .strictObject({ host: z.string().min(1), port, suffix: hostSuffix.nullable() })
    .default({ host: '127.0.0.1', port: 5433, suffix: null }),
  /** Folder for control's own files (`DIR/control`); all its state is in the database. */
  data_dir: z.string().startsWith('/'),
  /** SHA-256, in hex, of the key that opens `/v1/admin`; without one nothing does. */
  operator_key_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  /** Commit of the running code as `/version` shows it; `unknown` outside a git checkout. */
  commit: z.string().min(1),
  log_level: logLevel,
})

export type ControlConfig = z.infer<typeof controlConfig>

/** The configuration file of the edge. All paths are absolute. */
export const edgeConfig = z.strictObject({
  /** One port for HTTP/1.1, HTTP/2 and TLS. */
  listen,
  /** Preview hosts are `<port>-<sandbox id>.<suffix>`. */
  suffix: hostSuffix,
  /** The port of databases, in PostgreSQL's protocol, always with TLS; without it there are none here. */
  databases: z
    .strictObject({
      listen,
      /** Names `<database id>.db.<suffix>` are routed by; without: only the user's name is. */
      suffix: hostSuffix.nullable(),
      /** Connections to one database at the same time, and to all. */
      per_database: z.int().min(1).default(200),
      connections: z.int().min(1).default(5_000),
    })
    .optional(),
  /** The agents whose sandboxes are reached, each with the secret that the edge shares with it. */
  agents: z.array(z.strictObject({ url: z.url(), secret: agentSecret })),
  /** Where control tells of apps, with the secret that the edge shares with it; without it no app is served. */
  control: z.strictObject({ url: z.url(), secret: agentSecret }).optional(),
  /** PEM files of one's own certificate, read again when they change. Without: an authority of the edge's own makes them. */
  certificate: z.strictObject({ cert: z.string().startsWith('/'), key: z.string().startsWith('/') }).optional(),
  /** A certificate for the suffix and what is right below it, by ACME; `hook` changes DNS records: `HOOK add|remove NAME VALUE`. */
  acme: z
    .strictObject({ directory_url: z.url(), hook: z.string().startsWith('/'), email: z.email().optional() })
    .optional(),
  /** Whether `X-Forwarded-For` and `-Proto` of whoever connects are believed: only behind a proxy of one's own. */
  trusts_forwarded: z.boolean().default(false),
  /** Folder for the edge's own files (`DIR/edge`): the local authority. Made when missing. */
  data_dir: z.string().startsWith('/'),
  limits: z
    .strictObject({
      /** Requests of one sandbox per second, sustained; twice as many at once. */
      requests_per_second: z.int().min(1).default(1_000),
      /** Requests and WebSockets of one sandbox at the same time. */
      concurrent: z.int().min(1).max(500).default(256),
      /** Connections of visitors to this edge at the same time. */
      connections: z.int().min(1).default(10_000),
      /** Seconds that a visitor waits for a sandbox to wake. */
      wake_seconds: z.int().min(1).default(30),
    })
    .prefault({}),
  log_level: logLevel,
})

export type EdgeConfig = z.infer<typeof edgeConfig>
