import { randomUUID } from 'node:crypto'
import type { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from '../guest/command.ts'
import type { Vm } from '../vm/vm.ts'

const MAX_OUTPUT_BYTES = 64 * 1024
/** Milliseconds by which a guest's clock may differ from the host's, beyond the duration of the check. */
const CLOCK_TOLERANCE_MS = 2000
/** Bytes to read from the disk itself, past the guest's page cache. */
const BLOCK_BYTES = 4096

/** Stops at the first failing command. `$1`: the mark; `$2`: `write` or `read`. */
const SCRIPT = `
set -e
date +%s
if [ "$2" = write ]; then echo "$1" > /offshoot-probe; echo "$1" > /run/offshoot-probe; sync; fi
cat /offshoot-probe /run/offshoot-probe
date > /offshoot-probe.written; sync
dd if=/dev/vda of=/dev/null bs=${BLOCK_BYTES} count=1 iflag=direct 2>&1 || { echo the disk cannot be read >&2; exit 1; }
cat /sys/class/net/eth0/address > /dev/null || { echo there is no network device >&2; exit 1; }
`

/** A text that the probe writes to a guest's disk and memory. Every VM restored from that guest must have it. */
export class Mark {
  readonly text: string
  isWritten = false

  constructor(what: string) {
    this.text = `${what} ${randomUUID()}`
  }
}

/**
 * Checks a running guest: the clock is right, the disk can be written and read, the network device exists, and disk and
 * memory still have the mark. @throws Error that names what is wrong
 */
export async function checkGuest(vm: Vm, mark: Mark, deadline: Deadline): Promise<void> {
  const link = await vm.link(deadline)
  const action = mark.isWritten ? 'read' : 'write'
  const argv = ['/bin/sh', '-c', SCRIPT, 'sh', mark.text, action]
  const options = { stdin: undefined, maxBytes: MAX_OUTPUT_BYTES, stop: deadline.signal }
  const askedAt = Date.now()
  const { stdout, stderr, exitCode } = await runCommand(link, { argv }, options)
  deadline.throwIfOver()
  const answeredAt = Date.now()
  const said = stderr.bytes.toString('utf8').trim()
  if (exitCode !== 0) throw new Error(`the check of the guest failed: ${said || `exit code ${exitCode}`}`)
  const [seconds, onDisk, inMemory] = stdout.bytes.toString('utf8').split('\n')
  const clockMs = Number(seconds) * 1000
  // The clock counts whole seconds.
  if (!(clockMs + 1000 > askedAt - CLOCK_TOLERANCE_MS && clockMs < answeredAt + CLOCK_TOLERANCE_MS)) {
    throw new Error(`the guest's clock is wrong by ${Math.round((clockMs - askedAt) / 1000)} s`)
  }
  if (onDisk !== mark.text) throw new Error("the guest's disk has lost what was written to it")
  if (inMemory !== mark.text) throw new Error("the guest's memory has lost what was written to it")
  mark.isWritten = true
}
