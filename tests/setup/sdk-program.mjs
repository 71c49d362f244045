/** Uses the SDK in a runtime for servers, with the address and the key of the environment. */
import { useSdk } from './sdk-steps.mjs'

// Node.js 20 has no WebSocket.
const options = globalThis.WebSocket === undefined ? { WebSocket: (await import('ws')).WebSocket } : {}
console.log(`passed: ${(await useSdk(options)).join(', ')}`)
