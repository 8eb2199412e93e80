#!/bin/sh
# Prints the first Python of 3.10 to 3.13 among $PYTHON, python3 and the versioned names; nothing when there is none.
for name in ${PYTHON:-} python3 python3.12 python3.11 python3.13 python3.10; do
    if "$name" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
        echo "$name"
        exit 0
    fi
done
