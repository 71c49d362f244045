import type { Product } from './product.ts'

/** What `--help` prints. */
export function usage({ command, subcommands, dataDirText, doctor }: Product): string {
  const indent = ' '.repeat(`Usage: ${command} `.length)
  return `Usage: ${command} [--data-dir DIR] [--port N] [--edge-port N] [--database-port N] [--e2b-port N]
${indent}[--ssh-port N] [--images-dir DIR] [--accelerator auto|kvm|tcg] [--yes]
${indent}[--join URL [--token TOKEN] [--host-address HOST[:PORT]] [--label K=V]... [--zone ZONE]]
${indent}[--prepare | --down | --sign-in-link | --doctor [--json]] [--help]

Installs what Offshoot needs on this machine, starts it and stays in the foreground. Ctrl-C stops the services; VMs keep
running.

  --data-dir DIR     where all state is kept (default ${dataDirText})
  --port N           public port on 127.0.0.1 (default 8080; 0: a free one)
  --edge-port N      port of preview addresses (default 8081; a free one if that is taken)
  --database-port N  port of databases (default 5433; a free one if that is taken)
  --e2b-port N       port of the E2B gateway (default 8082; a free one if that is taken)
  --ssh-port N       port of the SSH gateway (default 2222; a free one if that is taken)
  --images-dir DIR   where images are kept; several data directories can share it (default DIR/images)
  --accelerator A    auto: KVM if it works, otherwise software emulation, and /healthz says why (default)
                     kvm: do not start without KVM; tcg: software emulation
  --join URL         run only an agent, as a host of the service at URL (docs/fleet.md); needs a token the first time
  --token TOKEN      from offshoot host token; OFFSHOOT_JOIN_TOKEN does the same
  --host-address A   HOST or HOST:PORT at which the service reaches this machine (default: this machine's address on
                     the way to URL, and port 7443)
  --label K=V        a label of this host, which workspaces may require (several); operators change it later
  --zone ZONE        name of the machines that fail together with this one, such as a rack
  --yes              install missing Debian packages without asking
  --prepare          build the images and start nothing; with --data-dir, also create the database, the first user and
                     the snapshots of templates
  --down             end the services and every VM of DIR; remove nothing
  --sign-in-link     print a new link that signs in to the console once; the service must run
  --doctor           change nothing; report whether this machine can run Offshoot with these options, and what to
                     do if not (exit code 0 or 1); --json: as JSON${doctor === null ? '' : `. The same as ${doctor}`}
  --help             print this text

Further commands; COMMAND --help lists their options:

${indented(subcommands)}

Environment variables, with an example value:

OFFSHOOT_TEMPLATES=minimal,base   build and offer only these templates
OFFSHOOT_DEFAULT_PLAN=free        plan of every workspace except the first (default free)
OFFSHOOT_RATE_LIMIT=50/25         requests of one workspace: at once / per second (default 50/25)
OFFSHOOT_MAX_UPLOAD_MIB=5120      maximum size of an uploaded file or archive (default 1024)

OFFSHOOT_POOL_MIB=512             memory for VMs that are restored in advance (default 512; 0: none)
OFFSHOOT_ZYGOTES=off              restore each of them, instead of copying a warm one (default on; docs/isolation.md)
OFFSHOOT_COMMIT_MIB=65536         maximum memory of all sandboxes together (default 8 times the memory of the machine)
OFFSHOOT_DISK_WARN_MIB=16384      /healthz warns below this much free space (default a tenth of the disk, at most 16384)
OFFSHOOT_DISK_REFUSE_MIB=4096     creates are refused below this much free space (default a twentieth, at most 4096;
                                  0: only if the disk is full)
OFFSHOOT_COMPRESS_AFTER_S=3600    seconds until the memory of a hibernated sandbox is compressed (default 3600)
OFFSHOOT_KVM_CPU=host             CPU model of QEMU under KVM (default: the newest suitable one; docs/kvm.md)
OFFSHOOT_KVM_VHOST_NET=on         under KVM, pass packets through the kernel of the host (vhost-net; default off)

OFFSHOOT_EGRESS_ALLOW=10.1.0.0/16:443   private addresses that sandboxes may reach: CIDR:port, separated by commas
OFFSHOOT_GUEST_RANGE=10.213.0.0/16      addresses of sandboxes; change it if the network of this machine uses them
OFFSHOOT_TLS_NAME=api.example.com       serve the API with TLS under this name, and order the certificate by ACME; ports 443
                                        and 80 of the name must lead to this machine
OFFSHOOT_TLS_ACME_EMAIL, OFFSHOOT_TLS_ACME_DIRECTORY   account and server for that (default Let's Encrypt)
OFFSHOOT_DATABASE_SUFFIX=example.com    domain of databases (ID.db.example.com); its names must lead to this machine
OFFSHOOT_SSH_ADDRESS=ssh.example.com:22 where users reach the SSH gateway through a TCP forwarder of yours
OFFSHOOT_E2B_DOMAIN=e2b.example.com     domain of the E2B gateway; a proxy of yours ends TLS for it and *.e2b.example.com
OFFSHOOT_PREVIEW_SUFFIX=p.example.com   domain of preview addresses; its names must lead to this machine (default localhost)
OFFSHOOT_PREVIEW_CERT=/c.pem OFFSHOOT_PREVIEW_KEY=/k.pem   certificate of that domain; preview addresses then use https
OFFSHOOT_PREVIEW_ACME_HOOK=/hook        or order the certificate by ACME: a program that changes DNS records, called as
                                        HOOK add|remove NAME VALUE
OFFSHOOT_PREVIEW_ACME_EMAIL, OFFSHOOT_PREVIEW_ACME_DIRECTORY   account and server for that (default Let's Encrypt)
`
}

const SUBCOMMANDS = [
  ['backup FILE|FOLDER', 'write what is needed after losing control'],
  ['restore FILE', 'make a data directory from a backup'],
  ['support-bundle FILE|FOLDER', 'write what helps to find a fault, without secrets'],
  ['install', 'have systemd start the service at every boot'],
  ['uninstall', 'remove what install wrote; no data'],
  ['upgrade', 'have the running service change to this version, or back if it fails'],
  ['rollback', 'have it go back to the version before the last upgrade'],
] as const

function indented(prefix: string): string {
  return SUBCOMMANDS.map(([form, what]) => `  ${`${prefix} ${form}`.padEnd(42)}${what}`).join('\n')
}
