import { parseBuildId } from '@offshoot/contract/ids'
import { Gauge, type Registry } from 'prom-client'
import { readHostMemory } from '../../machine/host/host-memory.ts'
import { ownMemoryMib } from '../../machine/host/process-memory.ts'
import type { Host } from '../../sandbox/model/host.ts'

const MIB = 1024 * 1024

/** The memory figures that admission control uses, and the warm pool. */
export function registerMemoryMetrics(registry: Registry, host: Host): void {
  const registers: Registry[] = [registry]
  const memory = new Gauge({
    name: 'offshoot_agent_memory_bytes',
    help: 'total, available: memory of the host. committed: maximum memory of all VMs; commit_limit: its limit. free: memory for another VM now. own: memory that VMs do not share',
    labelNames: ['kind'],
    registers,
    async collect() {
      const [{ totalMib, availableMib }, usage, ownMib] = await Promise.all([
        readHostMemory(),
        host.gates.admission.usage(),
        ownMemoryOfVms(host),
      ])
      memory.set({ kind: 'total' }, totalMib * MIB)
      memory.set({ kind: 'available' }, availableMib * MIB)
      memory.set({ kind: 'committed' }, usage.committedMib * MIB)
      memory.set({ kind: 'commit_limit' }, usage.commitLimitMib * MIB)
      memory.set({ kind: 'free' }, usage.freeMib * MIB)
      memory.set({ kind: 'own' }, ownMib * MIB)
    },
  })
  const spares = new Gauge({
    name: 'offshoot_agent_spares',
    help: 'Guests in the warm pool, by template; templates of workspaces count as one',
    labelNames: ['template'],
    registers,
    collect() {
      spares.reset()
      for (const { seed } of host.pool.spares) {
        const { template } = seed.manifest
        // The pool names a workspace's template by its id, and this page is open to callers without a credential.
        spares.inc({ template: parseBuildId(template) === null ? template : 'built' })
      }
    },
  })
  const copies = new Gauge({
    name: 'offshoot_agent_zygote_copies',
    help: 'Guests in the warm pool that are copies of a zygote, by template',
    labelNames: ['template'],
    registers,
    collect() {
      copies.reset()
      for (const { seed } of host.zygotes.all) copies.set({ template: seed.manifest.template }, 0)
      for (const { seed, isCopy } of host.pool.spares) if (isCopy) copies.inc({ template: seed.manifest.template })
    },
  })
  const taken = new Gauge({
    name: 'offshoot_agent_spares_asked',
    help: 'Creates since the start of the agent that found a guest in the warm pool (hit), and that did not (miss)',
    labelNames: ['outcome'],
    registers,
    collect() {
      taken.set({ outcome: 'hit' }, host.pool.taken.hits)
      taken.set({ outcome: 'miss' }, host.pool.taken.misses)
    },
  })
}

async function ownMemoryOfVms({ sandboxes, pool, zygotes }: Host): Promise<number> {
  const vms = [
    ...[...sandboxes.values()].map(({ vm }) => vm),
    ...[...pool.spares, ...zygotes.all.map(({ zygote }) => zygote)].map(({ vm }) => vm),
  ]
  // A VM that ends meanwhile counts as 0.
  const sizes = vms.flatMap((vm) => (vm === null ? [] : ownMemoryMib(vm.process.pid).catch(() => 0)))
  return (await Promise.all(sizes)).reduce((sum, mib) => sum + mib, 0)
}
