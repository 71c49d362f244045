/** A template's name from the name of an archive: what the service accepts. */
export function templateNameOf(fileName: string): string {
  return fileName
    .replace(/(\.(tar|tgz|gz|zst|oci))+$/i, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[-.]+|-+$/g, '')
    .slice(0, 64)
}
