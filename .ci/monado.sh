#!/bin/sh
# An OpenXR runtime without a headset, for tests: Monado with its `remote` driver, which takes hands over TCP port 4242.
#
#   sh .ci/monado.sh install     Monado and what it needs (Debian 13 or newer: on this system; else, as root, a Debian 13
#                                in a folder of its own, about 1.1 GB, in $TACKTILE_MONADO)
#   sh .ci/monado.sh check       says where it is, or why it cannot run here (exit status 1)
#   sh .ci/monado.sh run CMD...  starts the service, waits for it, runs CMD from the root of the checkout, stops it
#
# In the folder, CMD finds Debian's python3 with numpy and PyYAML, pyopenxr, and this checkout, read-only. Monado's remote
# driver listens on every interface: where `unshare` may make a network of its own, service and CMD get one.

set -u
here=$(cd "$(dirname "$0")/.." && pwd)
folder=${TACKTILE_MONADO:-${XDG_CACHE_HOME:-$HOME/.cache}/tacktile/monado}
python=${PYTHON:-$here/.venv/bin/python}
[ -x "$python" ] || python=python3
packages="monado-service libopenxr1-monado mesa-vulkan-drivers"

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

place() { # where Monado is: "system", "folder" or nothing
    if command -v monado-service >/dev/null && [ -e /usr/share/openxr/1/openxr_monado.json ]; then echo system
    elif [ -x "$folder/usr/bin/monado-service" ] && [ -d "$folder/opt/site/xr" ]; then echo folder; fi
}

check() {
    case $(place) in
    system)
        "$python" -c 'import xr' 2>/dev/null || { echo "pyopenxr is not installed: pip install 'tacktile[xr]'"; return 1; }
        echo "Monado of this system" ;;
    folder)
        [ "$(id -u)" = 0 ] || { echo "Monado is in $folder, which only root can enter"; return 1; }
        echo "Monado in $folder" ;;
    *)
        echo "Monado is not installed: sh .ci/monado.sh install"
        return 1 ;;
    esac
}

install() {
    export DEBIAN_FRONTEND=noninteractive
    if apt-cache policy monado-service 2>/dev/null | grep -q 'Candidate: [0-9]'; then
        as_root apt-get install -y --no-install-recommends $packages || return 1
    elif [ "$(id -u)" != 0 ]; then
        echo "This system has no package of Monado, and only root can make a Debian 13 in a folder." >&2
        return 1
    else
        command -v debootstrap >/dev/null || apt-get install -y --no-install-recommends debootstrap || return 1
        if [ ! -x "$folder/usr/bin/monado-service" ]; then
            if [ -e "$folder" ] && ! rmdir "$folder" 2>/dev/null; then
                echo "$folder is neither empty nor a Debian with Monado: remove it, or choose another in TACKTILE_MONADO." >&2
                return 1
            fi
            rm -rf "$folder.making" # what an interrupted installation left
            mkdir -p "$folder.making" || return 1
            debootstrap --variant=minbase \
                --include="$(echo $packages | tr ' ' ,),python3,python3-numpy,python3-yaml,ca-certificates" \
                trixie "$folder.making" ${TACKTILE_DEBIAN:-} || return 1 # empty: debootstrap's own mirror
            mv "$folder.making" "$folder" || return 1
        fi
        # the bindings are plain Python with the loader in the package; their windows are not needed
        "$python" -m pip --disable-pip-version-check install --quiet --no-deps --upgrade --target "$folder/opt/site" \
            -c "$here/requirements.lock" pyopenxr pyopengl || return 1
    fi
    check
}

serve() { # inside: start, wait, run, stop
    runtime=$(mktemp -d)
    export XDG_RUNTIME_DIR="$runtime" XRT_COMPOSITOR_NULL=1 XRT_NO_STDIN=1 P_OVERRIDE_ACTIVE_CONFIG=remote
    export XR_RUNTIME_JSON=/usr/share/openxr/1/openxr_monado.json PYTHONDONTWRITEBYTECODE=1
    monado-service >"$runtime/log" 2>&1 &
    TACKTILE_MONADO_PID=$!
    export TACKTILE_MONADO_PID
    tries=0
    until grep -q ':1092 [0-9A-F:]* 0A' /proc/net/tcp; do # listens on 4242; asked by connecting, it would be the sender
        tries=$((tries + 1))
        if [ $tries -gt 40 ] || ! kill -0 $TACKTILE_MONADO_PID 2>/dev/null; then
            echo "Monado did not start:" >&2
            tail -5 "$runtime/log" >&2
            kill $TACKTILE_MONADO_PID 2>/dev/null
            return 1
        fi
        sleep 0.25
    done
    "$@"
    code=$?
    kill $TACKTILE_MONADO_PID 2>/dev/null
    wait $TACKTILE_MONADO_PID 2>/dev/null
    rm -rf "$runtime"
    return $code
}

enter() { # in a mount namespace of our own: what is mounted here is gone when we are
    mkdir -p "$folder/proc" "$folder/dev" "$folder/repo"
    mount -t proc proc "$folder/proc" && mount --bind /dev "$folder/dev" && mount -t tmpfs shm "$folder/dev/shm" &&
        mount --bind "$here" "$folder/repo" && mount -o remount,bind,ro "$folder/repo" || return 1
    ip link set lo up 2>/dev/null
    exec chroot "$folder" /usr/bin/env PYTHONPATH=/repo:/opt/site sh /repo/.ci/monado.sh inside "$@"
}

case ${1:-} in
check) check ;;
install) install ;;
run)
    shift
    check >/dev/null || { check >&2; exit 1; }
    net=""
    command -v ip >/dev/null && unshare --net true 2>/dev/null && net="--net"
    if [ "$(place)" = folder ]; then
        exec unshare --mount $net sh "$here/.ci/monado.sh" enter "$@"
    fi
    cd "$here" && PYTHONPATH="$here" PATH="$(dirname "$python"):$PATH" serve "$@" ;;
enter) shift; enter "$@" ;;
inside) shift; cd /repo && serve "$@" ;;
*)
    sed -n '2,12s/^# \{0,1\}//p' "$0"
    exit 2 ;;
esac
