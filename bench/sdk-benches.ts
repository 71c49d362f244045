import { Offshoot as Client } from '@offshoot/sdk'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { inSandbox } from './sandbox-benches.ts'

/**
 * What the SDK adds to a request: reading a sandbox through it, less the same with `fetch`, alternately. The floor is
 * `fetch` alone, and the ratio compares both calls as a whole.
 */
export async function sdkCallOverhead(offshoot: Offshoot, n = 3000): Promise<Record<string, Figure>> {
  const { base_url: baseUrl, api_key: apiKey } = offshoot.credentials
  const client = new Client({ baseUrl, apiKey, maxRetries: 0 })
  const headers = { authorization: `Bearer ${apiKey}` }
  const [sdk, bare] = [new Samples(), new Samples()]
  await inSandbox(offshoot, async (id) => {
    for (const _ of rounds(n)) {
      await sdk.time(async () => client.sandboxes.get(id))
      await bare.time(async () => {
        const response = await fetch(`${baseUrl}/v1/sandboxes/${id}`, { headers })
        const body = (await response.json()) as { readonly id?: string }
        if (body.id !== id) throw new Error(`answered ${response.status}: ${JSON.stringify(body)}`)
      })
    }
  })
  const [whole, floor] = [sdk.figure('ms', bare.p50), bare.figure('ms')]
  const [p50, p95, p99] = [whole.p50 - floor.p50, whole.p95 - floor.p95, whole.p99 - floor.p99]
  return { sdk_call_overhead_ms: { ...whole, p50, p95, p99 } }
}
