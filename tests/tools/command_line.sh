#!/bin/sh
# SPDX-License-Identifier: MIT
# command_line.sh KOLK SCENE_FILE MANUALS: what the kolk tool prints and returns.
set -u
kolk=$(realpath "$1") scene=$(realpath "$2") manuals=$(realpath "$3")
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
passed=0 failed=0
unset NO_COLOR CLICOLOR_FORCE
export LC_ALL=C.UTF-8 TERM=xterm
cd "$folder" || exit 1
"$scene" good 30 || exit 1
escape=$(printf '\033')

ok() { # sentence: the last command succeeded
    if [ $? -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
    fi
}

returns() { # status sentence command...
    wanted=$1 sentence=$2
    shift 2
    "$@" >out 2>err </dev/null
    [ $? -eq "$wanted" ]
    ok "$sentence"
}

# Exit codes

returns 0 'a snapshot can be dumped' "$kolk" dump good
returns 0 'a sound snapshot is fine' "$kolk" check good
returns 0 'help helps' "$kolk" help
returns 0 'help may be asked for as an option' "$kolk" --help
returns 0 'the version is told' "$kolk" --version
grep -q '^kolk [0-9]' out
ok 'the version is a number'
for command in dump check help version; do
    returns 0 "help explains $command" "$kolk" help $command
    returns 0 "$command explains itself" "$kolk" $command --help
done
returns 2 'a command is needed' "$kolk"
grep -q usage err
ok 'without a command usage is shown'
returns 2 'a command must exist' "$kolk" dance
returns 2 'a file is needed' "$kolk" dump
returns 2 'one file is enough' "$kolk" dump good good
returns 2 'an option must exist' "$kolk" dump --dance good
returns 2 'a letter must exist' "$kolk" dump -z good
returns 2 'options cannot be shortened' "$kolk" dump --js good
returns 2 'check takes no rows' "$kolk" check --rows=3 good
returns 2 'an option may need an argument' "$kolk" dump --rows
returns 2 'an option may not take one' "$kolk" dump --json=yes good
for rows in 0 -1 x 1x 100001 99999999999999999999 ''; do
    returns 2 "there are no $rows rows" "$kolk" dump "--rows=$rows" good
done
returns 2 'a colour must be known' "$kolk" dump --color=red good
returns 3 'a file must be there' "$kolk" dump missing
grep -q '^kolk: missing: No such file' err
ok 'what is missing is named'
returns 3 'a folder is no snapshot' "$kolk" check /
: >empty
returns 3 'an empty file is no snapshot' "$kolk" check empty
grep -q '^kolk: empty: offset 0: ' err
ok 'the offset is told'
head -c 5000 good >cut
returns 3 'a cut file is no snapshot' "$kolk" dump cut
grep -q '^kolk: cut: offset [0-9]*: .*cut short' err
ok 'a cut file is told to be one'
[ ! -s out ]
ok 'nothing is printed of a bad file'
sed 's/"num_frees":[0-9]*/"num_frees":0/' good >bad
returns 1 'a violated identity is a finding' "$kolk" check bad
grep -q '^FAIL  allocs - frees = blocks' out
ok 'a violated identity is named'
returns 0 'an unsound snapshot can be dumped' "$kolk" dump bad
grep -q 'identities are violated' out
ok 'a dump says that identities are violated'
returns 3 'a full disk is an error' sh -c '"$0" dump good >/dev/full' "$kolk"
printf '{"a\033[2J":\033' >control
returns 3 'control codes are no snapshot' "$kolk" dump control
! grep -q "$escape" err
ok 'no control code of a file reaches the terminal'

# Pipes

"$kolk" check - <good >out && grep -q 'identities hold' out
ok 'standard input is read'
"$kolk" dump - <cut 2>&1 | grep -q '^kolk: standard input: offset'
ok 'standard input is called so'
(
    "$kolk" dump --rows=10000 --json good
    echo $? >status
) 2>err | head -c 1 >/dev/null
status=$(cat status)
[ "$status" -eq 141 ] || [ "$status" -eq 0 ]
ok 'a closed pipe ends it quietly'
[ ! -s err ]
ok 'a closed pipe is no complaint'
(
    trap '' PIPE
    sh -c 'sleep 0.2; "$0" dump good; echo $? >status' "$kolk"
) 2>err | true
[ "$(cat status)" -eq 141 ] && [ ! -s err ]
ok 'a closed pipe is quiet also when its signal is ignored'

# What is printed

"$kolk" dump good >out
! grep -q "$escape" out
ok 'there is no colour in a pipe'
! grep -q '[[:cntrl:]]' out
ok 'there are no control codes in a pipe'
! grep -q ' $' out
ok 'no line ends in blanks'
[ "$(wc -L <out)" -le 80 ]
ok '80 columns are enough'
[ "$(wc -l <out)" -le 160 ]
ok 'a dump is not long'
"$kolk" dump --rows=3 good >short
[ "$(wc -l <short)" -lt "$(wc -l <out)" ]
ok 'fewer rows make a shorter dump'
"$kolk" dump --ascii good >ascii
! LC_ALL=C grep -q '[^ -~]' ascii || LC_ALL=C grep '[^ -~]' ascii | grep -q '^Pool'
ok 'ASCII is all that is drawn with'
LC_ALL=C "$kolk" dump good >c
! LC_ALL=C grep -q '[^ -~]' c
ok 'a locale without UTF-8 gets ASCII'
"$kolk" dump --color=always good | grep -q "$escape"
ok 'colour can be asked for'
CLICOLOR_FORCE=1 "$kolk" dump good | grep -q "$escape"
ok 'colour can be forced by the environment'
! CLICOLOR_FORCE=0 "$kolk" dump good | grep -q "$escape"
ok 'forcing can be switched off'
! NO_COLOR=1 CLICOLOR_FORCE=1 "$kolk" dump good | grep -q "$escape"
ok 'NO_COLOR goes before CLICOLOR_FORCE'
NO_COLOR=1 "$kolk" dump --color=always good | grep -q "$escape"
ok 'an option goes before the environment'
! CLICOLOR_FORCE=1 "$kolk" dump --color=never good | grep -q "$escape"
ok 'no colour can be asked for'
"$kolk" dump --color=always good | sed "s/$escape\[[0-9;]*m//g" >plain
grep -v '^  colours' plain | cmp -s - out
ok 'colour changes nothing but the colour'
for word in requested allocated active reserved utilisation fragmentation 'largest free' \
    page_create weights activations segment; do
    grep -q "$word" out
    ok "a dump speaks of $word"
done
"$kolk" dump --bytes good | grep -q 'limit 1073741824'
ok 'sizes can be numbers of bytes'

# For machines

"$kolk" dump --json good >dump.json && grep -q '"schema": "kolk-dump/1"' dump.json
ok 'a dump for machines names its schema'
"$kolk" check --json good >check.json && grep -q '"schema": "kolk-check/1"' check.json
ok 'a check for machines names its schema'
returns 1 'a finding is one for machines too' "$kolk" check --json bad
grep -q '"violated": [1-9]' out
ok 'findings are counted for machines'
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys
for name in sys.argv[1:]: json.load(open(name))' good dump.json check.json out
    ok 'all documents are JSON to others'
fi

# Manual pages: nothing that help tells is missing there

"$kolk" help | sed -n 's/^  \([a-z]*\) .*/\1/p' | sort -u >commands
[ "$(wc -l <commands)" -ge 4 ]
ok 'help lists the commands'
while read -r command; do
    grep -q "^\.It Cm $command\$" "$manuals/kolk.1"
    ok "the manual explains $command"
    "$kolk" help "$command" | sed -n 's/^  -\(.\), --\([a-z]*\).*/\1 \2/p' >options
    while read -r letter name; do
        grep -q "^\.It Fl $letter.* , [F]l -$name" "$manuals/kolk.1" ||
            grep -q "^\.It Fl $letter , -$name" "$manuals/kolk.1"
        ok "the manual explains $command --$name"
    done <options
done <commands
tr -d '\n' <good | tr '{,' '\n\n' | sed -n 's/^"\([a-z_]*\)":.*/\1/p' | sort -u >keys
while read -r key; do
    grep -q "$key" "$manuals/kolk-snapshot.5"
    ok "the manual explains the key $key"
done <keys
[ "$(wc -l <keys)" -ge 50 ]
ok 'the file has its keys'
if command -v mandoc >/dev/null; then
    for page in kolk.1 kolk-snapshot.5; do
        ! mandoc -T lint -W warning "$manuals/$page" | grep .
        ok "$page is well-formed"
    done
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
