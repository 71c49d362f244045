# Runs as root inside the image when its packages and files are in place.

useradd --create-home --uid 1000 --shell /bin/bash user
chown -R root:root /usr/local /etc/apt /etc/dpkg /etc/sudoers.d /etc/pip.conf
chmod 0440 /etc/sudoers.d/user

# Made at the first connection (dropbear -R), so that no two sandboxes share one.
mkdir -p /etc/dropbear
rm -f /etc/dropbear/*_host_key

# Matplotlib looks through all fonts once; better here than in every sandbox.
setpriv --reuid=user --regid=user --init-groups env HOME=/home/user MPLBACKEND=agg python3 -c 'import matplotlib.font_manager'
python3 -m compileall -q /usr/local/lib/offshoot-code

# The first packages were unpacked before dpkg.cfg.d/paths held.
find /usr/share/doc -type f ! -name copyright -delete
find /usr/share/doc -type l -delete
find /usr/share/doc -depth -type d -empty -delete
rm -rf /usr/share/man/* /usr/share/info/* /usr/share/locale/*

# What differs from sandbox to sandbox, and what a build leaves behind.
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debconf/*-old /var/lib/dpkg/*-old
rm -rf /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/log/bootstrap.log /tmp/*
mkdir -p /var/lib/apt/lists/partial

# The builder's own; a sandbox gets its name servers with its address.
: > /etc/resolv.conf
chmod 0644 /etc/resolv.conf
