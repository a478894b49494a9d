"""`python -m loopback`: fake providers that always answer, to try an agent without a key; until Ctrl-C."""

import time
from contextlib import suppress

from loopback.obliging import obliging
from loopback.server import Loopback

with Loopback() as loopback:
    print(f"export OPENAI_API_KEY=none OPENAI_BASE_URL={loopback.url}/v1", flush=True)  # noqa: T201
    with suppress(KeyboardInterrupt):
        while True:
            loopback.answers(*[obliging] * (100 - len(loopback.script)))
            time.sleep(0.1)
