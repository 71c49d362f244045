import { z } from 'zod'
import { databaseAddress } from './database-address.ts'
import { controlSettings } from './control-settings.ts'
import { egressExceptions } from './egress-exception.ts'
import { objectStore } from './object-store.ts'
import { templateName } from './template-image.ts'

/** Default network of guests. */
export const DEFAULT_GUEST_RANGE = '10.213.0.0/16'

const port = z.int().min(1).max(65_535)
const listen = z.strictObject({
  /** Address to bind, e.g. `127.0.0.1` or `0.0.0.0`. */
  host: z.string().min(1),
  port,
})
const absolutePath = z.string().startsWith('/')
const logLevel = z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info')
/** 32 random bytes in base64: the HS256 key that control (or an edge) shares with one agent. */
const agentSecret = z.base64().refine((text) => Buffer.from(text, 'base64').length === 32, 'must be 32 bytes in base64')

/** A domain whose subdomains all resolve to the edge. Lower case, without leading or final dot. */
const hostSuffix = z.string().regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/)

/** Maximum bytes of an upload into a sandbox: a file, or an archive to unpack. Default 1 GiB. */
const maxUploadBytes = z
  .int()
  .min(1)
  .default(1024 ** 3)

/** Network of the guests of one host. */
export const guestRange = z
  .string()
  .regex(/^(\d{1,3}\.){2}0\.0\/16$/, 'must be a range such as 10.213.0.0/16')
  .refine((text) => z.ipv4().safeParse(text.split('/')[0]).success, 'must be a range such as 10.213.0.0/16')
  .default(DEFAULT_GUEST_RANGE)

const agentNetwork = z
  .strictObject({
    /** A private network that the host uses for nothing else. Each guest takes four addresses. */
    guest_range: guestRange,
    /** Private or host addresses that guests may reach, each as `CIDR:port`. */
    egress_allow: egressExceptions.default([]),
    /** Bandwidth limit of each guest in Mbit/s, in each direction. */
    guest_mbit: z.int().min(1).max(100_000).default(1000),
    /** Maximum open connections of a guest to the outside. */
    guest_connections: z.int().min(1).max(65_535).default(1024),
    /**
     * Address at which the agent reaches a name server that listens on the host's loopback, if its own network namespace
     * is not the host's. `null`: at its loopback address.
     */
    loopback_resolver: z.ipv4().nullable().default(null),
  })
  .prefault({})

/** `auto`: KVM if a trial shows that guests run under it, else TCG. `kvm`: fail without KVM. `tcg`: do not try KVM. */
export const acceleratorChoice = z.enum(['auto', 'kvm', 'tcg'])
export type AcceleratorChoice = z.infer<typeof acceleratorChoice>

/** Settings of guests under KVM. */
export const kvmSettings = z
  .strictObject({
    /** Value of QEMU's `-cpu`. Default: the newest model of a fixed list that the host supports. */
    cpu: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.,=+-]*$/, "must be a CPU model of QEMU's, with its options")
      .optional(),
    /** Added to the guest kernel's command line. */
    kernel_parameters: z.array(z.string().regex(/^[\x21-\x7e]+$/)).default([]),
    /** Factor for the time limits of the KVM trial and of bakes, for hosts with slow (nested) KVM. */
    patience: z.int().min(1).max(100).default(1),
    /** Send guest packets through the kernel's vhost-net instead of QEMU, if the host has it. */
    vhost_net: z.boolean().default(false),
  })
  .prefault({})

/** How the agent uses the file system of its data directory. */
const agentDiskSettings = z
  .strictObject({
    /** Warn operators below this many free MiB. `null`: a tenth of the file system, at most 16 GiB. */
    warn_below_mib: z.int().min(0).nullable().default(null),
    /**
     * Answer 507 to requests that need new space below this many free MiB, which reserves the rest for existing
     * sandboxes. `null`: a twentieth of the file system, at most 4 GiB. 0: refuse only when the disk is full.
     */
    refuse_below_mib: z.int().min(0).nullable().default(null),
    /** Seconds of hibernation after which the agent compresses a sandbox's memory. */
    compress_after_s: z.int().min(0).default(3600),
  })
  .prefault({})

/** Where objects are stored, and the key that encrypts them. */
const objects = z.strictObject({ store: objectStore, key: agentSecret })

/** Configuration file of an agent, also read by its `prepare.ts` and `end-all.ts`. All paths are absolute. */
export const agentConfig = z.strictObject({
  /** If absent, the agent chooses one at its first start and stores it in its data directory. */
  agent_id: z.uuid().optional(),
  /** The agent's data directory (`DIR/agent`): bakes, sandboxes, events. Created if missing. */
  data_dir: z.string().startsWith('/'),
  /** Folder of the built images. The agent only reads it, so several agents may share it. */
  images_dir: z.string().startsWith('/'),
  /** Address for control and the edge. */
  listen,
  /** A descriptor that the agent inherits: a socket that listens at that address. Without it, the agent makes one. */
  listen_fd: z.int().min(3).optional(),
  /**
   * Folder of what agents of one network namespace share: the claims of slots. The agents of a host share the default. It
   * need not survive a boot.
   */
  run_dir: z.string().startsWith('/').default('/run/offshoot'),
  /** Whether durable VMs run only while control renews the host's lease. For hosts that have joined. */
  leases: z.boolean().default(false),
  secret: agentSecret,
  /** Shared with the edge. Without it, the agent accepts no edge. */
  edge_secret: agentSecret.optional(),
  /**
   * Files in PEM: `identity` holds the key and the certificate of this host, `ca` the authority of the fleet. With them
   * the agent serves control and edges of that authority over TLS, and nobody else. It rereads the files when they
   * change. Every credential must name the host.
   */
  tls: z.strictObject({ identity: absolutePath, ca: absolutePath }).optional(),
  /** Names of the templates to bake and offer; `null`: all images. */
  templates: z.array(templateName).nullable(),
  /** Base address for users, if known. */
  public_url: z.url().optional(),
  /** The agent counts the bytes as they arrive. */
  max_upload_bytes: maxUploadBytes,
  /** MiB of guest memory in the warm pool, whose VMs are restored in advance. 0: no pool. */
  pool_memory_mib: z.int().min(0).default(512),
  /** Whether guests in the pool may be copies of one that has run common programs (docs/isolation.md). Under emulation only. */
  zygotes: z.boolean().default(true),
  /**
   * Maximum committed MiB of all VMs; each counts with its full cgroup limit. Most VMs are idle, so overcommit is safe:
   * `null` is 8 times the host's memory. A create or wake beyond it is answered 507.
   */
  commit_limit_mib: z.int().min(1).nullable().default(null),
  disk: agentDiskSettings,
  network: agentNetwork,
  accelerator: acceleratorChoice.default('auto'),
  kvm: kvmSettings,
  /** Where archives and backups of databases are copied to; `key` encrypts them. Absent: they are on this host only. */
  objects: objects.optional(),
  log_level: logLevel,
})

export type AgentConfig = z.infer<typeof agentConfig>
/** The input type: defaults are not applied. */
export type AgentConfigFile = z.input<typeof agentConfig>

/** Configuration file of control, also read by its `bootstrap.ts`. All paths are absolute. */
export const controlConfig = z.strictObject({
  /** Address of the public API. */
  listen,
  ...controlSettings.shape,
  /** Base address for users, without a final slash. */
  public_url: z.url(),
  /** The PostgreSQL 16 database. The user owns it and is no superuser. */
  database: databaseAddress,
  /** The agents of this cluster, each with the secret that it shares with control. */
  agents: z.array(z.strictObject({ url: z.url(), secret: agentSecret })),
  /** Shared with the edge. Without it, control serves no edge. */
  edge_secret: agentSecret.optional(),
  /** Shared with the E2B gateway. Without it, control accepts no credentials for single sandboxes. */
  gateway_secret: agentSecret.optional(),
  /** The agents' limit. Control refuses a larger announced length before it forwards anything. */
  max_upload_bytes: maxUploadBytes,
  /** Public address of the edge, for the URLs of ports. */
  preview: z
    .strictObject({ scheme: z.enum(['http', 'https']), port, suffix: hostSuffix })
    .default({ scheme: 'http', port: 8081, suffix: 'localhost' }),
  /**
   * Public address of the database port. With a suffix, names `<id>.db.<suffix>` resolve to it; otherwise all databases
   * share this host.
   */
  databases: z
    .strictObject({ host: z.string().min(1), port, suffix: hostSuffix.nullable() })
    .default({ host: '127.0.0.1', port: 5433, suffix: null }),
  /** Public address of the SSH gateway. Without it, the service has none. */
  ssh: z.strictObject({ host: z.string().min(1), port }).optional(),
  /** Where copies of hibernated sandboxes are stored, the same for all control processes. Absent: there are none. */
  objects: objects.optional(),
  /** Control's data directory (`DIR/control`). Durable state is in PostgreSQL only. */
  data_dir: z.string().startsWith('/'),
  /** Folder of the built web console, which control serves at `/`. `null`: no console. */
  console_dir: z.string().startsWith('/').nullable().default(null),
  /** Folder of the built documentation, which control serves at `/docs`. `null`: no documentation. */
  docs_dir: z.string().startsWith('/').nullable().default(null),
  /** SHA-256 in hex of the operator key for `/v1/admin`. Without it, `/v1/admin` is closed. */
  operator_key_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  /** Commit of the running code for `/version`; `unknown` outside a git checkout. */
  commit: z.string().min(1),
  log_level: logLevel,
})

export type ControlConfig = z.infer<typeof controlConfig>

/** Configuration file of the edge. All paths are absolute. */
export const edgeConfig = z.strictObject({
  /** One port for HTTP/1.1, HTTP/2 and TLS. */
  listen,
  /** Preview hosts are `<port>-<sandbox id>.<suffix>`. */
  suffix: hostSuffix,
  /** The database port: PostgreSQL's protocol, always with TLS. Without it, the edge serves no databases. */
  databases: z
    .strictObject({
      listen,
      /**
       * The edge routes names `<database id>.db.<suffix>` by SNI. Without a suffix, it routes by the user name only.
       */
      suffix: hostSuffix.nullable(),
      /** Maximum concurrent connections to one database, and to all databases. */
      per_database: z.int().min(1).default(200),
      connections: z.int().min(1).default(5_000),
    })
    .optional(),
  /** The port of the SSH gateway, which needs `control`. Without it, the edge serves no SSH. */
  ssh: z
    .strictObject({
      listen,
      /** Maximum concurrent connections of one user or API key, of one client address, and of all. */
      per_caller: z.int().min(1).default(64),
      per_address: z.int().min(1).default(128),
      connections: z.int().min(1).default(2_000),
      /** Maximum concurrent channels of one connection: commands, forwarded connections. */
      channels: z.int().min(1).default(128),
      /** Seconds without a channel or a forwarded port after which the gateway closes a connection. */
      idle_seconds: z.int().min(1).default(43_200),
    })
    .optional(),
  /** The agents whose sandboxes the edge serves, each with the secret that it shares with the edge. */
  agents: z.array(z.strictObject({ url: z.url(), secret: agentSecret })),
  /** Where the edge follows apps, with the secret that it shares with control. Without it, the edge serves no apps. */
  control: z
    .strictObject({
      url: z.url(),
      secret: agentSecret,
      /**
       * Control's address for browsers. A member of the workspace is sent there to open a private preview. Without it,
       * private previews take links and keys only.
       */
      public_url: z.url().optional(),
    })
    .optional(),
  /**
   * PEM files of the operator's certificate; the edge rereads them when they change. Default: the edge's local
   * authority.
   */
  certificate: z.strictObject({ cert: z.string().startsWith('/'), key: z.string().startsWith('/') }).optional(),
  /**
   * A certificate for the suffix and its wildcard, ordered by ACME. `hook` changes DNS records: `HOOK add|remove NAME
   * VALUE`.
   */
  acme: z
    .strictObject({ directory_url: z.url(), hook: z.string().startsWith('/'), email: z.email().optional() })
    .optional(),
  /**
   * Whether to trust `X-Forwarded-For` and `X-Forwarded-Proto`. Set it only if every visitor comes through your own
   * proxy.
   */
  trusts_forwarded: z.boolean().default(false),
  /** The edge's data directory (`DIR/edge`), for its local authority. Created if missing. */
  data_dir: z.string().startsWith('/'),
  limits: z
    .strictObject({
      /** Sustained requests per second to one sandbox. A burst may be twice as large. */
      requests_per_second: z.int().min(1).default(1_000),
      /** Concurrent requests and WebSockets per sandbox. */
      concurrent: z.int().min(1).max(500).default(256),
      /** Concurrent visitor connections of this edge. */
      connections: z.int().min(1).default(10_000),
      /** Maximum seconds that a visitor waits for a sandbox to wake. */
      wake_seconds: z.int().min(1).default(30),
    })
    .prefault({}),
  log_level: logLevel,
})

export type EdgeConfig = z.infer<typeof edgeConfig>

/** Configuration file of the E2B gateway. All paths are absolute. */
export const e2bConfig = z.strictObject({
  listen,
  control_url: z.url(),
  /** Where the edge listens, and the suffix of its preview hosts. */
  edge: z.strictObject({ url: z.url(), suffix: hostSuffix }),
  /**
   * The domain that clients are given: ports of sandboxes are `<port>-<id>.<suffix>`, and the API is `api.<suffix>`. The
   * port is the one that clients see.
   */
  domain: z.strictObject({ suffix: hostSuffix, port }),
  /** Shared with control: signs the credentials of single sandboxes. */
  gateway_secret: agentSecret,
  log_level: logLevel,
})

export type E2bConfig = z.infer<typeof e2bConfig>
