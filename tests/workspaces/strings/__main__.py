"""Write the strings of a part as JSON Lines."""

import json
import sys

from tests.workspaces.strings import in_parts, rows

for row in rows(sys.argv[1]):
    sys.stdout.write(json.dumps(in_parts(row), ensure_ascii=False) + "\n")
