import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Which packets of a machine are lost: those that it sends, those that it receives, or both. */
export type Direction = 'out' | 'in' | 'both'

const CHAINS = {
  in: 'chain in { type filter hook prerouting priority -400; iifname up0 drop; }',
  out: 'chain out { type filter hook postrouting priority 400; oifname up0 drop; }',
}

/**
 * Loses packets of a network namespace at its interface `up0` without an error for anybody, as a broken switch does. If
 * the interface was down, packets to it would take the default route of this machine.
 */
export async function losePackets(namespace: string, direction: Direction): Promise<void> {
  const chains = direction === 'both' ? Object.values(CHAINS) : [CHAINS[direction]]
  await load(namespace, `table inet cut {\n${chains.join('\n')}\n}\n`)
}

/** Also if no packets were lost. */
export async function passPackets(namespace: string): Promise<void> {
  await load(namespace, 'table inet cut {}\ndelete table inet cut\n')
}

async function load(namespace: string, rules: string): Promise<void> {
  const done = execute('ip', ['netns', 'exec', namespace, 'nft', '-f', '-'])
  // A program that fails does not read it.
  done.child.stdin?.on('error', () => undefined).end(rules)
  await done
}
