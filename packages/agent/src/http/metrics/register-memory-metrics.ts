import { parseBuildId } from '@offshoot/contract/ids'
import { Gauge, type Registry } from 'prom-client'
import { readHostMemory } from '../../machine/host/host-memory.ts'
import { ownMemoryMib } from '../../machine/host/process-memory.ts'
import type { Host } from '../../sandbox/model/host.ts'

const MIB = 1024 * 1024

/** What admission goes by, and the guests that wait to be asked for. */
export function registerMemoryMetrics(registry: Registry, host: Host): void {
  const registers: Registry[] = [registry]
  const memory = new Gauge({
    name: 'offshoot_agent_memory_bytes',
    help: 'total, available: of the host. committed: what all VMs may come to have; commit_limit: its bound. free: for another VM now. own: what VMs have for themselves',
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
    help: 'Restored guests that wait for their sandbox, by template; those of workspaces are one',
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
  const taken = new Gauge({
    name: 'offshoot_agent_spares_asked',
    help: 'Creates since the agent started that found a restored guest waiting (hit), and that did not (miss)',
    labelNames: ['outcome'],
    registers,
    collect() {
      taken.set({ outcome: 'hit' }, host.pool.taken.hits)
      taken.set({ outcome: 'miss' }, host.pool.taken.misses)
    },
  })
}

async function ownMemoryOfVms({ sandboxes, pool }: Host): Promise<number> {
  const vms = [...[...sandboxes.values()].map(({ vm }) => vm), ...pool.spares.map(({ vm }) => vm)]
  // One that ends meanwhile has nothing any more.
  const sizes = vms.flatMap((vm) => (vm === null ? [] : ownMemoryMib(vm.process.pid).catch(() => 0)))
  return (await Promise.all(sizes)).reduce((sum, mib) => sum + mib, 0)
}
