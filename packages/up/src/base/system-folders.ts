/** Programs such as nft and mke2fs are here. Debian leaves these folders out of the PATH of users other than root. */
const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/sbin']

/** Adds them to the PATH of this process. */
export function addSystemFolders(): void {
  const path = (process.env['PATH'] ?? '/usr/bin:/bin').split(':')
  process.env['PATH'] = [...path, ...SYSTEM_FOLDERS.filter((folder) => !path.includes(folder))].join(':')
}
