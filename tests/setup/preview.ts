import { call, type Answer, type Call } from './http.ts'
import type { Offshoot } from './offshoot.ts'

/**
 * The preview address of a port, for programs that do not resolve `localhost` names: the address to connect to, and the
 * host to request.
 */
export function previewOf({ credentials }: Offshoot, id: string, port: number): { url: string; host: string } {
  const { port: edgePort } = new URL(credentials.edge_url)
  return { url: credentials.edge_url, host: `${port}-${id}.${credentials.preview_suffix}:${edgePort}` }
}

/** Sends one request to a port of a sandbox through the edge. */
export function visit(
  offshoot: Offshoot,
  id: string,
  port: number,
  path = '/',
  { method = 'GET', headers = {}, ...rest }: Call & { readonly method?: string } = {},
): Promise<Answer> {
  const { url, host } = previewOf(offshoot, id, port)
  return call(method, url + path, { headers: { ...headers, host }, ...rest })
}
