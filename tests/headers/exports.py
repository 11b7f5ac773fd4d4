# SPDX-License-Identifier: MIT
"""What the library exports is what its headers declare, no more and no less:
exports.py NM LIBRARY COMPILER ARGUMENT... (which print the headers, preprocessed).
"""

import re
import subprocess
import sys

VISIBLE = r'__attribute__\(\(visibility\("default"\)\)\)'
ATTRIBUTE = r'\s*__attribute__\(\((?:[^()]|\([^()]*\))*\)\)'


def output_of(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


nm, library, *compiler = sys.argv[1:]
symbols = output_of(nm, '-D', '--defined-only', '--format=posix', library)
exported = {line.split()[0].split('@')[0] for line in symbols.splitlines()}
declared = set(re.findall(VISIBLE + f'(?:{ATTRIBUTE})*' + r'[^;(){]*?\b(\w+)\s*\(',
                          output_of(*compiler)))

for name in sorted(declared - exported):
    print('declared, not exported:', name)
for name in sorted(exported - declared):
    print('exported, not declared:', name)
print(len(declared), 'declared,', len(exported), 'exported')
sys.exit(0 if declared and declared == exported else 1)
