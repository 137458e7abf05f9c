#!/bin/sh
# Finds a Python that is new enough and hands over to bootstrap.py beside this file.
# Usage: tools/bootstrap.sh [base] [test] [lint] [docs]      (PYTHON=... names a preferred interpreter)
#
# A shell script, because which Python to use has to be known before any Python can run.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
own_bin=$(dirname -- "$here")/.venv/bin

# With this project's own environment activated, `python3` is the one that may need repair: look past it.
search=:$PATH:
while :; do
    case $search in
        *":$own_bin:"*) search=${search%%":$own_bin:"*}:${search#*":$own_bin:"} ;;
        *) break ;;
    esac
done
search=${search#:}
search=${search%:}

# The usual case first: no interpreter named, nothing changed, and the environment can say so itself.
if [ -z "${PYTHON:-}" ] && [ -x "$own_bin/python" ] &&
    [ "$("$own_bin/python" -I -S "$here/bootstrap.py" --only-look "$@" 2>/dev/null)" = current ]; then
    exit 0
fi

# Prints the full name of the interpreter, past the wrappers that version managers put on PATH.
new_enough() {
    PATH=$search "$1" -I -S -c 'import sys; sys.version_info < (3, 11) and sys.exit(1); print(sys.executable)' 2>/dev/null
}

if [ -n "${PYTHON:-}" ]; then
    if python=$(new_enough "$PYTHON"); then
        PATH=$search exec "$python" -I -S "$here/bootstrap.py" --exactly-this-python "$@"
    fi
    echo "angsync: PYTHON=$PYTHON is not there or older than 3.11; looking for another one." >&2
fi

for candidate in python3 python3.13 python3.12 python3.11 python3.14; do
    if python=$(new_enough "$candidate"); then
        PATH=$search exec "$python" -I -S "$here/bootstrap.py" "$@"
    fi
done

found=$(PATH=$search python3 --version 2>/dev/null) || found=
cat >&2 <<MESSAGE
angsync: no Python 3.11 or newer was found.
  looked for: ${PYTHON:+$PYTHON, }python3 (${found:-none}), python3.13, python3.12, python3.11, python3.14
  to mend it: install one of them, or say where it is:  make test PYTHON=/path/to/python3.12
MESSAGE
exit 1
