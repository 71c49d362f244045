/** What a VM takes from its host, as the last sample of its agent says. Unknown values are left out. */
export interface VmFigures {
  readonly sandboxId: string
  readonly workspaceId: string
  readonly cpuSeconds?: number
  readonly memoryBytes?: number
  readonly diskBytes?: number
}

const FIELDS: Readonly<Record<string, keyof VmFigures>> = {
  offshoot_sandbox_cpu_seconds_total: 'cpuSeconds',
  offshoot_sandbox_memory_host_private_bytes: 'memoryBytes',
  offshoot_sandbox_disk_bytes: 'diskBytes',
}

/** The VMs of one host, from `GET /v1/admin/metrics`, which has those of all hosts in Prometheus' format. */
export function vmsOf(text: string, agentId: string): readonly VmFigures[] {
  const vms = new Map<string, VmFigures>()
  for (const line of text.split('\n')) {
    const [, name = '', list = '', value] = /^(\w+)\{([^}]*)\} (\S+)$/.exec(line) ?? []
    const field = FIELDS[name]
    if (field === undefined) continue
    const labels = Object.fromEntries([...list.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, content]) => [key, content]))
    const { agent_id: host, sandbox_id: sandboxId, workspace_id: workspaceId } = labels
    if (host !== agentId || sandboxId === undefined || workspaceId === undefined) continue
    vms.set(sandboxId, { ...(vms.get(sandboxId) ?? { sandboxId, workspaceId }), [field]: Number(value) })
  }
  return [...vms.values()]
}
