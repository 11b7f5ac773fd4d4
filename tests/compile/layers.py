# SPDX-License-Identifier: MIT
"""Nobody includes what the house does not allow: layers.py ROOT BUILD.

The compiler is asked, with the very flags that each layer is built with, for
every private header of every other layer, by every name it might go by. Paths
that climb out of a layer would escape any flag, so nobody may write them.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

ALLOWED = {
    'runtime': [],
    'kernels': [],
    'pool': ['runtime/'],
    'tensor': ['runtime/', 'kernels/kernels.h'],
}

root, build = Path(sys.argv[1]), Path(sys.argv[2])
problems = []


def private_headers(layer):
    return sorted(header.name for header in (root / layer).glob('*.h'))


def preprocessor(layer):
    """The layer's compile command, as a preprocessor of standard input."""
    for entry in json.loads((build / 'compile_commands.json').read_text()):
        source = (build / entry['file']).resolve()
        if source.parent == (root / layer).resolve() and source.suffix == '.c':
            words = shlex.split(entry['command'])
            flags = [w for w in words if re.match(r'-(I|isystem|D|std)', w)]
            return [words[0], *flags, '-E', '-P', '-xc', '-']
    return None


def reachable(command, includes):
    """Those of `includes` that the compiler finds."""
    text = ''.join(f'#if __has_include({include})\nfound {i}\n#endif\n'
                   for i, include in enumerate(includes))
    output = subprocess.run(command, input=text, text=True, cwd=build, check=True,
                            stdout=subprocess.PIPE).stdout
    return {includes[int(i)] for i in re.findall(r'^found (\d+)$', output, re.M)}


def check_reach(layer):
    command = preprocessor(layer)
    if command is None:
        problems.append(f'{layer} compiles no C file')
        return 0
    expected, tried = {'<kolk/status.h>'}, ['<kolk/status.h>']
    for other in ALLOWED.keys() - {layer}:
        for name in private_headers(other):
            path = f'{other}/{name}'
            tried += [f'<{path}>', f'"{path}"', f'"{name}"']
            if path.startswith(tuple(ALLOWED[layer])):
                expected |= {f'<{path}>', f'"{path}"'}
    found = reachable(command, tried)
    problems.extend(f'{layer} reaches {name}' for name in found - expected)
    problems.extend(f'{layer} does not reach {name}' for name in expected - found)
    return len(tried)


def check_paths(layer):
    for source in (root / layer).rglob('*.[ch]'):
        for line in source.read_text().splitlines():
            if re.match(r'\s*#\s*include\s*".*/', line):
                problems.append(f'{source.relative_to(root)}: {line}')


tried = sum(check_reach(layer) for layer in ALLOWED)
for layer in ALLOWED:
    check_paths(layer)
print(f'{tried} includes tried', *problems, sep='\n')
sys.exit(1 if problems or not tried else 0)
