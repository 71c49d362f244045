import { expect, it } from 'vitest'
import { vmsOf } from './samples.ts'

it('collects the figures of the VMs of one host', () => {
  const text = [
    '# HELP offshoot_sandbox_cpu_seconds_total CPU time',
    'offshoot_agent_up{agent_id="a"} 1',
    'offshoot_sandbox_cpu_seconds_total{agent_id="a",workspace_id="w",sandbox_id="1"} 1.5',
    'offshoot_sandbox_cpu_seconds_total{agent_id="b",workspace_id="w",sandbox_id="2"} 9',
    'offshoot_sandbox_disk_bytes{agent_id="a",workspace_id="w",sandbox_id="1"} 4096',
    'offshoot_sandbox_memory_host_private_bytes{agent_id="a",workspace_id="v",sandbox_id="3"} 7',
  ].join('\n')
  expect(vmsOf(text, 'a')).toEqual([
    { sandboxId: '1', workspaceId: 'w', cpuSeconds: 1.5, diskBytes: 4096 },
    { sandboxId: '3', workspaceId: 'v', memoryBytes: 7 },
  ])
})
