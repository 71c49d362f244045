/** Uses the SDK in an edge runtime, with the address and the key of its bindings. */
import { useSdk } from './sdk-steps.mjs'

export default {
  async fetch(_request, { baseUrl, apiKey }) {
    const names = await useSdk({ baseUrl, apiKey }).catch((error) => [error.stack])
    return new Response(names.join(', '))
  },
}
