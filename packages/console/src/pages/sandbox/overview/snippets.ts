/** Ways to use a sandbox from outside, with its id. */
export const SNIPPETS = ['Command line', 'TypeScript', 'Python', 'curl'] as const

export type Snippet = (typeof SNIPPETS)[number]

export function snippet(kind: Snippet, id: string, baseUrl: string): string {
  switch (kind) {
    case 'Command line':
      return [
        `offshoot shell ${id}`,
        `offshoot sandbox exec ${id} 'uname -a'`,
        `offshoot cp ./site ${id}:/srv/site`,
      ].join('\n')
    case 'TypeScript':
      return [
        `import { Offshoot } from '@offshoot/sdk'`,
        '',
        `const offshoot = new Offshoot({ baseUrl: '${baseUrl}', apiKey: process.env.OFFSHOOT_API_KEY })`,
        `const sandbox = await offshoot.sandboxes.get('${id}')`,
        `console.log((await sandbox.exec('uname -a')).stdout)`,
      ].join('\n')
    case 'Python':
      return [
        'from offshoot import Offshoot',
        '',
        `with Offshoot(base_url="${baseUrl}") as offshoot:`,
        `    sandbox = offshoot.sandboxes.get("${id}")`,
        '    print(sandbox.exec("uname -a").stdout)',
      ].join('\n')
    case 'curl':
      return [
        `curl ${baseUrl}/v1/sandboxes/${id}/exec \\`,
        '  -H "Authorization: Bearer $OFFSHOOT_API_KEY" -H "Content-Type: application/json" \\',
        `  -d '{"cmd":"uname -a"}'`,
      ].join('\n')
  }
}
