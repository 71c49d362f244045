import type { Credentials } from './config/credentials.ts'

/**
 * The text after `ready`: three shell lines that work in this order, the addresses of previews and SSH, variables for
 * E2B's clients, and the console.
 */
export function readyLines(
  {
    base_url,
    api_key,
    ssh_host,
    ssh_port,
    edge_url,
    preview_suffix,
    e2b_api_key,
    e2b_api_url,
    e2b_sandbox_url,
    e2b_domain,
  }: Credentials,
  signInLink: string,
  template: string,
): readonly string[] {
  const auth = `-H 'Authorization: Bearer ${api_key}'`
  const json = `-H 'Content-Type: application/json'`
  const sandboxes = `${base_url}/v1/sandboxes`
  const takeId = `grep -o '"id":"[^"]*"' | head -n 1 | cut -d '"' -f 4`
  return [
    `id=$(curl -sS ${auth} ${json} -d '{"template":"${template}"}' ${sandboxes} | ${takeId})`,
    `curl -sS ${auth} ${json} -d '{"cmd":"uname -a"}' ${sandboxes}/$id/exec; echo`,
    `curl -sS ${auth} -X DELETE ${sandboxes}/$id`,
    `# previews: ${edge_url.replace(/(?<=:\/\/)[^:]*/, `PORT-SANDBOX_ID.${preview_suffix}`)}`,
    `# SSH: ssh -p ${ssh_port} SANDBOX_ID@${ssh_host} (docs/ssh.md)`,
    `# for clients of E2B: export E2B_API_KEY=${e2b_api_key} E2B_API_URL=${e2b_api_url} E2B_SANDBOX_URL=${e2b_sandbox_url} E2B_DOMAIN=${e2b_domain}`,
    `# console: ${signInLink} (signs in once)`,
  ]
}
