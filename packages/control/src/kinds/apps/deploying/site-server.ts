/**
 * Serves a static site inside the sandbox that built it, with nginx, because an idle nginx does almost no work after a
 * wake.
 */

const SITE = '/run/offshoot-site'
/** A symbolic link to the folder that is served. */
const FILES = `${SITE}/files`
/** Types with a charset in addition to HTML, to which nginx adds one by itself. */
const TEXT_TYPES =
  'text/plain text/css text/javascript text/markdown text/xml application/javascript application/json application/manifest+json image/svg+xml'

/**
 * Serves the first of `$OFFSHOOT_FOLDERS` that has an `index.html`, with the configuration in `$OFFSHOOT_SITE`. Removes
 * symbolic links that lead out of the folder, because files outside it are not part of the site.
 */
export const SERVE_SITE = `set -e
site=
while IFS= read -r name; do
  [ -d "$name" ] || continue
  : "\${site:=$name}"
  [ ! -e "$name/index.html" ] || { site=$name; break; }
done <<END
$OFFSHOOT_FOLDERS
END
[ -n "$site" ] || { echo "offshoot: there is no folder $OFFSHOOT_FOLDERS" >&2; exit 1; }
here=$(pwd -P) site=$(realpath "$site")
case "$site/" in "$here"/*) ;; *) echo "offshoot: $OFFSHOOT_FOLDERS leads out of the repository" >&2; exit 1;; esac
find "$site" -type l -print0 | xargs -0r sh -c 'for link; do
  case "$(realpath -e "$link" 2>/dev/null)/" in "$0"/*) ;; *) rm "$link"; echo "offshoot: $link leads out of the site" >&2;; esac
done' "$site"
mkdir -p ${SITE}
ln -sfn "$site" ${FILES}
printf %s "$OFFSHOOT_SITE" > ${SITE}/nginx.conf
echo "serving $site on port $PORT"
exec /usr/sbin/nginx -e stderr -c ${SITE}/nginx.conf`

/**
 * A path matches a file, a page without its `.html`, or a folder with an `index.html`. Hidden files are not served.
 * Other paths get the site's `404.html`. A single-page app answers them with its page: with 200 if the path has no
 * extension and so looks like a page, else with 404.
 */
export function siteConfiguration(port: number, isSinglePage: boolean): string {
  return `daemon off;
master_process off;
pid ${SITE}/nginx.pid;
events {
  worker_connections 1024;
}
http {
  include /etc/nginx/mime.types;
  types {
    text/javascript mjs;
    text/markdown md;
    application/json map;
    application/manifest+json webmanifest;
  }
  default_type application/octet-stream;
  charset utf-8;
  charset_types ${TEXT_TYPES};
  gzip on;
  gzip_proxied any;
  gzip_types ${TEXT_TYPES};
  access_log off;
  sendfile on;
  map $uri $cache_control {
    default no-cache;
    "~\\.html$" no-cache;
    # Names with a hash of what they hold never hold anything else.
    "~[.-][\\w-]{8,}\\.\\w+$" "public, max-age=31536000, immutable";
  }
  map $request_method $allowed_instead {
    default "GET, HEAD";
    GET "";
    HEAD "";
  }
  server {
    listen ${port};
    root ${FILES};
    server_tokens off;
    absolute_redirect off;
    add_header cache-control $cache_control;
    add_header allow $allowed_instead always;
    if ($allowed_instead) {
      return 405;
    }
    location ~ "/\\.(?!well-known(/|$))" {
      return 404;
    }
    ${isSinglePage ? SINGLE_PAGE : PAGES}
  }
}
`
}

const PAGES = `recursive_error_pages on;
    error_page 403 404 =404 @missing;
    location / {
      try_files $uri $uri.html $uri/ =404;
    }
    location @missing {
      error_page 404 @nothing;
      try_files /404.html =404;
    }
    location @nothing {
      default_type text/plain;
      return 404 "not found\\n";
    }`

const SINGLE_PAGE = `error_page 403 =200 /index.html;
    error_page 404 /index.html;
    location / {
      try_files $uri $uri.html $uri/ /index.html =404;
    }
    location ~ "\\.[^/]+$" {
      try_files $uri $uri.html $uri/ =404;
    }`
