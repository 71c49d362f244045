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
      text: `curl -s ${baseUrl}/v1/sandboxes -H "Authorization: Bearer ${key}" -d '{"template":"base"}'`,
    },
    {
      label: 'Command line',
      text: `${environment}\noffshoot sandbox create first --template base`,
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
