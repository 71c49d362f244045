/** A program or a command that uses a key. */
export interface Example {
  readonly label: string
  readonly text: string
}

/** The same in several languages: make a sandbox and run a command in it. */
export function examplesFor(baseUrl: string, key: string): readonly Example[] {
  const environment = `export OFFSHOOT_BASE_URL=${baseUrl} OFFSHOOT_API_KEY=${key}`
  return [
    {
      label: 'curl',
      text: [
        `id=$(curl -sS ${baseUrl}/v1/sandboxes -H "Authorization: Bearer ${key}" \\`,
        `  -d '{"template":"base"}' | grep -o '"id":"[^"]*"' | head -n 1 | cut -d '"' -f 4)`,
        `curl -sS ${baseUrl}/v1/sandboxes/$id/exec -H "Authorization: Bearer ${key}" -d '{"cmd":"uname -a"}'`,
      ].join('\n'),
    },
    {
      label: 'Command line',
      text: [
        environment,
        'npx offshoot sandbox create first --template base',
        "npx offshoot sandbox exec first 'uname -a'",
      ].join('\n'),
    },
    {
      label: 'TypeScript',
      text: [
        "import { Offshoot } from '@offshoot/sdk'",
        '',
        `const client = new Offshoot({ baseUrl: '${baseUrl}', apiKey: '${key}' })`,
        "await using sandbox = await client.sandboxes.create({ template: 'base' })",
        "const { stdout } = await sandbox.exec('uname -a')",
        'console.log(stdout)',
      ].join('\n'),
    },
    {
      label: 'Python',
      text: [
        'from offshoot import Offshoot',
        '',
        `with Offshoot(base_url="${baseUrl}", api_key="${key}") as client, client.sandboxes.create("base") as sandbox:`,
        '    print(sandbox.exec("uname -a").stdout)',
      ].join('\n'),
    },
  ]
}
