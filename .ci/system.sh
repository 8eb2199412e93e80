#!/bin/sh
# Looks for what must come from the system, not from Python packages, and installs it when it may.
#
#   sh .ci/system.sh run     Python with venv, libraries of the window and of the SpaceMouse
#   sh .ci/system.sh test    the same, and the programs that the tests drive
#
# Debian and its children: installs with apt-get as root (or through sudo when it asks for no password), else prints
# the exact line. Other systems: names what is missing. Only a missing Python ends with an error: the physics, headless
# runs and most tests work without the rest.

set -u

library() { # soname -> found?
    { /sbin/ldconfig -p 2>/dev/null || ldconfig -p 2>/dev/null; } | grep -q "[[:space:]]$1 "
}

wanted=""
want() { # what is missing, Debian package
    echo "  missing: $1 (Debian package $2)"
    case " $wanted " in *" $2 "*) ;; *) wanted="$wanted $2" ;; esac
}

python=$(sh "$(dirname "$0")/python.sh")
if [ -z "$python" ]; then
    want "Python 3.10 to 3.13" python3
    want "Python's venv module" python3-venv
elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ "$python" = python3 ]; then want "Python's venv module" python3-venv
    else want "the venv module of $python" "python$version-venv"; fi
fi

library libGL.so.1 || want "libGL.so.1, drawing" libgl1
library libEGL.so.1 || want "libEGL.so.1, pictures without a display" libegl1
library libX11.so.6 || want "libX11.so.6, window" libx11-6
library libXrandr.so.2 || want "libXrandr.so.2, window" libxrandr2
library libXinerama.so.1 || want "libXinerama.so.1, window" libxinerama1
library libXcursor.so.1 || want "libXcursor.so.1, window" libxcursor1
library libXi.so.6 || want "libXi.so.6, window" libxi6
library libhidapi-hidraw.so.0 || want "libhidapi-hidraw.so.0, SpaceMouse" libhidapi-hidraw0
if ! library libGLX_nvidia.so.0 && ! ls /usr/lib/*/dri/*_dri.so /usr/lib/dri/*_dri.so /usr/lib64/dri/*_dri.so 2>/dev/null | grep -q .; then
    want "an OpenGL driver" libgl1-mesa-dri
fi

if [ "${1:-run}" = test ]; then
    command -v Xvfb >/dev/null || want "Xvfb, a display in memory" xvfb
    command -v xauth >/dev/null || want "xauth, for xvfb-run" xauth
    command -v xdotool >/dev/null || want "xdotool, presses keys in tests" xdotool
    command -v import >/dev/null || want "ImageMagick, pictures of the window" imagemagick
    command -v gcc >/dev/null || want "gcc, builds the stand-in for a SpaceMouse" gcc
    [ -f /usr/include/stdio.h ] || want "headers of the C library" libc6-dev
fi

if [ -n "$wanted" ]; then
    line="apt-get install -y --no-install-recommends$wanted"
    if ! command -v apt-get >/dev/null; then
        echo "Install the above with your system's package manager."
    else
        as_root=""
        if [ "$(id -u)" != 0 ]; then
            if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root="sudo -n env"; else as_root="no"; fi
        fi
        if [ "$as_root" = no ]; then
            echo "Install it with:"
            echo "  sudo apt-get update && sudo $line"
        else
            echo "Installing:$wanted"
            $as_root apt-get update -qq </dev/null
            if ! $as_root env DEBIAN_FRONTEND=noninteractive $line -qq </dev/null >/dev/null; then
                echo "That failed. Install it by hand:"
                echo "  sudo apt-get update && sudo $line"
            fi
        fi
    fi
fi

python=$(sh "$(dirname "$0")/python.sh")
if [ -z "$python" ]; then
    echo "No Python 3.10 to 3.13 found. Install one, or name it: make run PYTHON=/path/to/python3.12" >&2
    exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "$python has no venv module, which the environment of Tacktile needs: see the line above." >&2
    exit 1
fi
exit 0
